/// A value written once, for answers that are given often and seldom change.
public struct JSONText: Sendable, Hashable {
  /// The text as `JSONWriter` made it: compact, without a line feed.
  public let bytes: [UInt8]

  /// Writes `value`.
  public init(_ value: JSONValue) { bytes = JSONWriter().write(value) }

  init(written bytes: [UInt8]) { self.bytes = bytes }
}
