import PosternSupport

/// A resource as callers write it, compared by its bytes: for Swift's own comparison `é` in one scalar and in two are
/// the same.
public struct ResourceName: Sendable, Hashable {
  /// The resource: an id or an MRSS fragment.
  public let text: String

  /// The resource `text`.
  public init(_ text: String) { self.text = text }

  /// Whether both have the same bytes.
  public static func == (left: ResourceName, right: ResourceName) -> Bool { left.text.hasSameBytes(as: right.text) }

  /// Feeds the bytes.
  public func hash(into hasher: inout Hasher) {
    var text = text
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}
