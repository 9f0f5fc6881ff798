public import PosternSupport

/// A JSON value written once, for responses that are sent often and seldom change.
public struct JSONText: Sendable, Hashable {
  /// The text as `JSONWriter` made it: compact, without a line feed.
  public let bytes: [UInt8]

  /// Writes `value`.
  public init(_ value: JSONValue) { bytes = JSONWriter().write(value) }

  /// The value, read again: for the few that need it as a part of another one.
  public var value: JSONValue {
    (try? JSONParser(maxBytes: bytes.count, maxDepth: 512, allowsNUL: true, allowsScalar: true).parse(bytes)) ?? .null
  }

  init(written bytes: [UInt8]) { self.bytes = bytes }
}

/// Writes a JSON text piece by piece, for responses that are sent so often that a tree of values would cost more than
/// the rest of their processing.
///
/// Whether the pieces make a JSON text is not checked: tests must parse the result.
public struct JSONComposer: ~Copyable {
  private let text: WrittenText

  /// An empty text, of which about `capacity` bytes are expected.
  public init(capacity: Int = 768) { text = WrittenText(capacity: capacity) }

  /// Appends `piece` as it is.
  public func literal(_ piece: StaticString) { text.literal(piece) }

  /// Appends a string with its quotation marks, escaped as needed (RFC 8259 section 7).
  public func string(_ value: String) { text.quote(value) }

  /// Appends any value, as `JSONWriter` writes it.
  public func value(_ value: JSONValue) { text.write(value) }

  /// Appends a value that has been written already.
  public func written(_ value: JSONText) {
    value.bytes.withUnsafeBytes { text.write($0) }
  }

  /// Appends an integer.
  public func integer(_ value: Int64) { text.write(value) }

  /// The text written so far.
  public func finished() -> JSONText { JSONText(written: Array(text.bytes)) }
}

extension JSONText: ConciseStringConvertible {
  /// The size.
  public var description: String { "\(Concise.count(bytes.count, "byte")) of JSON" }
}
