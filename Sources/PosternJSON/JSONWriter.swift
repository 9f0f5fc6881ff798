import Glibc
public import PosternSupport

/// A JSON writer: compact by default, one line, member order kept. It gives the same bytes as jansson (a test compares
/// them), in a fraction of its time: jansson would need a tree of its own, and hands over a few bytes at a time.
public struct JSONWriter: Sendable {
  /// Whether to indent by two spaces, for people.
  public var pretty: Bool

  /// A writer; compact unless `pretty`.
  public init(pretty: Bool = false) { self.pretty = pretty }

  /// The text of `value`, without a line feed at its end.
  public func write(_ value: JSONValue) -> [UInt8] { withBytes(of: value) { Array($0) } }

  /// The text of `value` as a string.
  public func string(_ value: JSONValue) -> String {
    withBytes(of: value) { String(decoding: $0, as: UTF8.self) }
  }

  /// Calls `body` with the text of `value`; the bytes are valid during the call only.
  public func withBytes<Result>(
    of value: JSONValue, _ body: (UnsafeRawBufferPointer) throws -> Result
  ) rethrows -> Result {
    let text = WrittenText(capacity: value.weight(upTo: WrittenText.reservedAtMost))
    text.write(value, indentation: pretty ? 0 : nil)
    return try withExtendedLifetime(text) { try body(text.bytes) }
  }
}

extension WrittenText {
  /// Appends a value; over several lines when `indentation`, the depth of the line that it is on, is not nil.
  func write(_ value: JSONValue, indentation: Int? = nil) {
    switch value {
    case .null: literal("null")
    case .bool(true): literal("true")
    case .bool(false): literal("false")
    case .integer(let number): write(number)
    case .real(let number): write(number)
    case .string(let text): quote(text)
    case .array(let elements):
      list("[", "]", elements, indentation) { write($0, indentation: $1) }
    case .object(let object):
      list("{", "}", object.members, indentation) { member, depth in
        quote(member.name)
        literal(depth == nil ? ":" : ": ")
        write(member.value, indentation: depth)
      }
    }
  }

  private func list<Element>(
    _ start: StaticString, _ end: StaticString, _ elements: [Element], _ indentation: Int?,
    _ body: (Element, Int?) -> Void
  ) {
    literal(start)
    let depth = indentation.map { $0 + 1 }
    var isFirst = true
    for element in elements {
      if !isFirst { literal(",") }
      isFirst = false
      breakLine(depth)
      body(element, depth)
    }
    if !isFirst { breakLine(indentation) }
    literal(end)
  }

  private func breakLine(_ depth: Int?) {
    guard let depth else { return }
    literal("\n")
    for _ in 0..<depth { literal("  ") }
  }

  /// Appends an integer.
  func write(_ value: Int64) {
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
      write(UnsafeRawBufferPointer(rebasing: digits[start...]))
    }
  }

  /// Appends a real number as jansson does: with the fewest digits that give the same number back, and with a point or
  /// an exponent, so that no reader takes it for an integer. JSON cannot express one that is not finite.
  private func write(_ number: Double) {
    guard number.isFinite else { return literal("null") }
    let text = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 40) { buffer -> [UInt8] in
      let count = withVaList([Int32(Self.digits(for: number)), number]) {
        vsnprintf(buffer.baseAddress, buffer.count, "%.*g", $0)
      }
      return buffer[..<Int(count)].map { UInt8(bitPattern: $0) }
    }
    guard let exponent = text.firstIndex(of: UInt8(ascii: "e")) else {
      text.withUnsafeBytes { write($0) }
      return text.contains(UInt8(ascii: ".")) ? () : literal(".0")
    }
    text[...exponent].withUnsafeBytes { write($0) }
    let rest = text[(exponent + 1)...]
    if rest.first == UInt8(ascii: "-") { literal("-") }
    rest.dropFirst().drop { $0 == UInt8(ascii: "0") }.withUnsafeBytes { write($0) }
  }

  /// The fewest significant digits that give the same double back: those of Swift's shortest description.
  private static func digits(for number: Double) -> Int {
    let mantissa = number.description.utf8.prefix { $0 != UInt8(ascii: "e") }
    let digits = mantissa.filter { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
    return max(1, digits.drop { $0 == UInt8(ascii: "0") }.count)
  }
}

extension JSONWriter: ConciseStringConvertible {}
