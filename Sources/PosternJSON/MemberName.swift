import PosternSupport

/// A member's name as JSON means it: compared by its bytes. Swift compares strings by canonical equivalence, for which
/// `é` in one scalar and in two are the same; jansson, and RFC 8259 section 8.3, tell them apart.
struct MemberName: Hashable, Sendable {
  let name: String

  static func == (left: MemberName, right: MemberName) -> Bool { left.name.hasSameBytes(as: right.name) }

  func hash(into hasher: inout Hasher) {
    var name = name
    name.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}
