/// A JSON value written once, for responses that are sent often and seldom change.
public struct JSONText: Sendable, Hashable {
  /// The text as `JSONWriter` made it: compact, without a line feed.
  public let bytes: [UInt8]

  /// Writes `value`.
  public init(_ value: JSONValue) { bytes = JSONWriter().write(value) }

  init(written bytes: [UInt8]) { self.bytes = bytes }
}

/// Writes a JSON text piece by piece, for responses that are sent so often that a tree of values, written by jansson,
/// would cost more than the rest of their processing.
///
/// Whether the pieces make a JSON text is not checked: tests must parse the result.
public struct JSONComposer: ~Copyable {
  private let text = WrittenText(spliced: [])

  /// An empty text.
  public init() {}

  /// Appends `piece` as it is.
  public func literal(_ piece: StaticString) {
    text.write(UnsafeRawBufferPointer(start: piece.utf8Start, count: piece.utf8CodeUnitCount))
  }

  /// Appends a string with its quotation marks, escaped as needed (RFC 8259 section 7).
  public func string(_ value: String) {
    literal("\"")
    text.escape(value)
    literal("\"")
  }

  /// Appends any value, as `JSONWriter` writes it.
  public func value(_ value: JSONValue) {
    JSONWriter().withBytes(of: value) { text.write($0) }
  }

  /// Appends a value that has been written already.
  public func written(_ value: JSONText) {
    value.bytes.withUnsafeBytes { text.write($0) }
  }

  /// Appends an integer.
  public func integer(_ value: Int64) {
    // The longest has a sign and 19 digits.
    withUnsafeTemporaryAllocation(byteCount: 20, alignment: 1) { digits in
      var start = digits.count
      var rest = value.magnitude
      repeat {
        start -= 1
        digits[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
        rest /= 10
      } while rest > 0
      if value < 0 {
        start -= 1
        digits[start] = UInt8(ascii: "-")
      }
      text.write(UnsafeRawBufferPointer(rebasing: digits[start...]))
    }
  }

  /// The text written so far.
  public func finished() -> JSONText { JSONText(written: Array(text.bytes)) }
}
