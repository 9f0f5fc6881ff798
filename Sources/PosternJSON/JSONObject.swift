import Glibc
public import PosternSupport

/// The members of a JSON object, in order, each name once.
public struct JSONObject: Sendable {
  /// One member.
  public struct Member: Sendable, Hashable {
    /// Its name.
    public let name: String
    /// Its value.
    public fileprivate(set) var value: JSONValue
    fileprivate let mark: NameMark

    /// A member of `name` and `value`.
    public init(name: String, value: JSONValue) {
      self.name = name
      self.value = value
      mark = NameMark(name)
    }
  }

  /// From this many members on lookups go through a dictionary instead of a scan.
  private static let indexThreshold = 16

  /// The members in order.
  public private(set) var members: [Member]
  private var index: [MemberName: Int]?

  /// An empty object.
  public init() { members = [] }

  /// The given members; of a repeated name the last value wins, at the position of the first.
  public init(_ elements: some Sequence<(String, JSONValue)>) {
    members = []
    for (name, value) in elements { self[name] = value }
  }

  /// Members that are known to have distinct names: nothing is checked.
  public init(distinct members: [Member]) {
    self.members = members
    if members.count >= Self.indexThreshold { buildIndex() }
  }

  /// How many members there are.
  public var count: Int { members.count }

  /// Whether there is none.
  public var isEmpty: Bool { members.isEmpty }

  /// The names in order.
  public var names: [String] { members.map(\.name) }

  /// The value of `name`; setting nil removes the member, setting a new name adds it at the end.
  public subscript(name: String) -> JSONValue? {
    get { position(of: name).map { members[$0].value } }
    set {
      switch (position(of: name), newValue) {
      case (let position?, let value?):
        members[position].value = value
      case (let position?, nil):
        members.remove(at: position)
        if index != nil { buildIndex() }
      case (nil, let value?):
        members.append(Member(name: name, value: value))
        if index != nil {
          index?[MemberName(name: name)] = members.count - 1
        } else if members.count >= Self.indexThreshold {
          buildIndex()
        }
      case (nil, nil):
        break
      }
    }
  }

  func position(of name: String) -> Int? {
    if let index { return index[MemberName(name: name)] }
    let mark = NameMark(name)
    return members.indices.first {
      members[$0].mark == mark && (mark.isWholeName || members[$0].name.hasSameBytes(as: name))
    }
  }

  private mutating func buildIndex() {
    // uniquingKeysWith: must not trap, even if the names are not distinct.
    index = Dictionary(
      members.enumerated().map { (MemberName(name: $1.name), $0) }, uniquingKeysWith: { first, _ in first })
  }
}

extension JSONObject: Hashable {
  /// Same members with same values, in any order (RFC 8259 section 4: an object is unordered).
  public static func == (left: JSONObject, right: JSONObject) -> Bool {
    left.count == right.count && left.members.allSatisfy { right[$0.name] == $0.value }
  }

  /// Feeds the members, order ignored.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(Set(members))
  }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
  /// The given members; of repeated names the last value wins.
  public init(dictionaryLiteral elements: (String, JSONValue)...) { self.init(elements) }
}

/// A member's name, compared by its bytes (RFC 8259 section 8.3). Swift's `==` compares by canonical equivalence, for
/// which `é` in one scalar and in two are the same.
struct MemberName: Hashable, Sendable {
  let name: String

  static func == (left: MemberName, right: MemberName) -> Bool { left.name.hasSameBytes(as: right.name) }

  func hash(into hasher: inout Hasher) {
    var name = name
    name.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}

/// The length and the first seven bytes of a member's name in one word. A look-up compares this first, and rarely needs
/// more, since nearly all names are short or differ there.
struct NameMark: Sendable, Hashable {
  private static let shown = 7

  private let word: UInt64

  init(_ name: String) {
    var name = name
    self = name.withUTF8 { NameMark(UnsafeRawBufferPointer($0)) }
  }

  init(_ name: UnsafeRawBufferPointer) {
    var word: UInt64 = 0
    if let base = name.baseAddress { memcpy(&word, base, min(name.count, Self.shown)) }
    self.word = word.littleEndian | UInt64(min(name.count, 255)) << 56
  }

  /// Whether names with this mark have the same bytes.
  var isWholeName: Bool { word >> 56 <= UInt64(Self.shown) }
}

extension JSONObject: ConciseStringConvertible {
  /// The names of its members: values may be secret. `JSONWriter` writes all of it.
  public var description: String { "object with \(Concise.list(names, of: "member"))" }
}

extension JSONObject.Member: ConciseStringConvertible {
  /// The name: the value may be secret.
  public var description: String { "member \(Concise.name(name))" }
}
