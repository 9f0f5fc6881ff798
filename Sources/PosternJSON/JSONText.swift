public import PosternSupport

/// A JSON value written once, for responses that are sent often and seldom change.
public struct JSONText: Sendable {
  private let text: WrittenText

  /// Writes `value`.
  public init(_ value: JSONValue) {
    text = WrittenText(capacity: value.weight(upTo: WrittenText.reservedAtMost))
    text.write(value)
  }

  /// The text as `JSONWriter` made it: compact, without a line feed.
  public var bytes: [UInt8] { withBytes { Array($0) } }

  /// The number of its bytes.
  public var count: Int { text.bytes.count }

  /// Calls `body` with the bytes, which are valid during the call only.
  public func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try withExtendedLifetime(text) { try body(text.bytes) }
  }

  /// The value, read again: for the few that need it as a part of another one.
  public var value: JSONValue {
    let parser = JSONParser(maxBytes: count, maxDepth: 512, allowsNUL: true, allowsScalar: true)
    return withBytes { try? parser.parse($0) } ?? .null
  }

  fileprivate init(_ text: WrittenText) { self.text = text }
}

extension JSONText: Hashable {
  /// Same bytes.
  public static func == (left: JSONText, right: JSONText) -> Bool {
    left.withBytes { left in right.withBytes { left.elementsEqual($0) } }
  }

  /// Feeds the bytes.
  public func hash(into hasher: inout Hasher) { withBytes { hasher.combine(bytes: $0) } }
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

  /// Appends a string with its quotation marks, and with its capital ASCII letters in lower case.
  public func lowercasedString(_ value: String) { text.quoteLowercased(value) }

  /// Appends bytes as a string behind `before`; false, and nothing is appended, if they are not UTF-8.
  public func string(_ bytes: [UInt8], behind before: StaticString) -> Bool { text.quote(bytes, behind: before) }

  /// Appends any value, as `JSONWriter` writes it.
  public func value(_ value: JSONValue) { text.write(value) }

  /// Appends a value that has been written already.
  public func written(_ value: JSONText) { value.withBytes { text.write($0) } }

  /// Appends an integer.
  public func integer(_ value: Int64) { text.write(value) }

  /// The text.
  public consuming func finished() -> JSONText { JSONText(text) }
}

extension JSONText: ConciseStringConvertible {
  /// The size.
  public var description: String { "\(Concise.count(count, "byte")) of JSON" }
}
