/// Finds the end of one JSON text (RFC 8259, an object or array) in one pass that keeps its state across reads.
///
/// It follows the whole grammar of brackets, strings, escapes, numbers and literals, so that a text that can no longer
/// become JSON is seen at its first wrong byte and costs only its line. It counts values, each of which costs the
/// parser many times its bytes. It does not look at UTF-8, surrogate pairs, number ranges or duplicate names: the
/// parser does, once, on the whole text.
struct JSONTextScanner: Sendable {
  /// What a stretch of bytes came to.
  enum Verdict: Hashable {
    /// All bytes belong to the text, which goes on.
    case incomplete
    /// The text ends before the byte at `end`.
    case complete(end: Int)
    /// The byte at `at` cannot stand there.
    case malformed(at: Int, JSONDefect)
    /// The byte at `at` starts one value more than allowed. Reported once a text, which can be scanned on from there.
    case tooManyValues(at: Int)
  }

  /// Where in the grammar the next byte stands.
  private enum Place {
    case text
    case firstMember, member, colon
    case firstElement, value, comma
    case string, escape, hexDigits
    case literal
    case minus, zero, integer, point, fraction, exponent, exponentSign, exponentDigits
  }

  private let maximumDepth: Int
  private let maximumValues: Int
  private var place = Place.text
  private var depth = 0
  /// The values that have begun: scalars, arrays and objects; member names are not values.
  private var values = 0
  /// One bit per open bracket, the outermost lowest: 1 for an object. Allocated with the first text.
  private var objects: [UInt64] = []
  private var isInObject = false
  private var stringIsName = false
  private var hexDigitsLeft = 0
  /// What is left of `true`, `false` or `null`, the next byte lowest.
  private var literalRest: UInt32 = 0

  /// A scanner that calls more than `maximumDepth` open brackets malformed and counts up to `maximumValues` values.
  init(maximumDepth: Int, maximumValues: Int = .max) {
    self.maximumDepth = max(1, maximumDepth)
    // One less than the largest number: the count goes one beyond the limit.
    self.maximumValues = min(max(1, maximumValues), .max - 1)
  }

  /// Forgets the text at hand; the next byte starts a new one.
  mutating func reset() {
    place = .text
    depth = 0
    values = 0
    isInObject = false
  }

  /// Scans `bytes` from the index `start` on. After `complete` and `malformed`, `reset()` comes first.
  mutating func scan(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Verdict {
    guard let base = bytes.baseAddress else { return .incomplete }
    let end = bytes.count
    var index = start
    var place = self.place
    defer { self.place = place }
    while index < end {
      let byte = base.load(fromByteOffset: index, as: UInt8.self)
      switch place {
      case .string:
        index = PlainRun.end(of: base, from: index, to: end)
        guard index < end else { return .incomplete }
        switch base.load(fromByteOffset: index, as: UInt8.self) {
        case UInt8(ascii: "\""): place = stringIsName ? .colon : .comma
        case UInt8(ascii: "\\"): place = .escape
        default: return .malformed(at: index, .controlCharacter)
        }

      case .escape:
        switch byte {
        case UInt8(ascii: "u"):
          hexDigitsLeft = 4
          place = .hexDigits
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
          UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
          place = .string
        default: return .malformed(at: index, .escape)
        }

      case .hexDigits:
        guard Self.isHexDigit(byte) else { return .malformed(at: index, .escape) }
        hexDigitsLeft -= 1
        if hexDigitsLeft == 0 { place = .string }

      case .comma:
        switch byte {
        case UInt8(ascii: ","): place = isInObject ? .member : .value
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
          guard isInObject == (byte == UInt8(ascii: "}")) else { return .malformed(at: index, .bracketMismatch) }
          close()
          if depth == 0 { return .complete(end: index + 1) }
        case let byte where Self.isBlank(byte): break
        default: return .malformed(at: index, .commaExpected)
        }

      case .firstMember, .member:
        switch byte {
        case UInt8(ascii: "\""):
          stringIsName = true
          place = .string
        case UInt8(ascii: "}") where place == .firstMember:
          close()
          if depth == 0 { return .complete(end: index + 1) }
          place = .comma
        case UInt8(ascii: "]") where place == .firstMember: return .malformed(at: index, .bracketMismatch)
        case let byte where Self.isBlank(byte): break
        default: return .malformed(at: index, .memberNameExpected)
        }

      case .colon:
        if byte == UInt8(ascii: ":") {
          place = .value
        } else if !Self.isBlank(byte) {
          return .malformed(at: index, .colonExpected)
        }

      case .value, .firstElement:
        if !Self.isBlank(byte), byte != UInt8(ascii: "]") {
          values &+= 1
          // Only the first one beyond the limit: when the scan goes on there, the count is past it.
          if values == maximumValues &+ 1 { return .tooManyValues(at: index) }
        }
        switch byte {
        case UInt8(ascii: "\""):
          stringIsName = false
          place = .string
        case UInt8(ascii: "{"), UInt8(ascii: "["):
          guard open(object: byte == UInt8(ascii: "{")) else { return .malformed(at: index, .nesting) }
          place = isInObject ? .firstMember : .firstElement
        case UInt8(ascii: "]") where place == .firstElement:
          close()
          if depth == 0 { return .complete(end: index + 1) }
          place = .comma
        case UInt8(ascii: "}") where place == .firstElement: return .malformed(at: index, .bracketMismatch)
        case UInt8(ascii: "-"): place = .minus
        case UInt8(ascii: "0"): place = .zero
        case UInt8(ascii: "1")...UInt8(ascii: "9"): place = .integer
        case UInt8(ascii: "t"): (place, literalRest) = (.literal, Self.restOfTrue)
        case UInt8(ascii: "f"): (place, literalRest) = (.literal, Self.restOfFalse)
        case UInt8(ascii: "n"): (place, literalRest) = (.literal, Self.restOfNull)
        case let byte where Self.isBlank(byte): break
        default: return .malformed(at: index, .valueExpected)
        }

      case .literal:
        guard byte == UInt8(truncatingIfNeeded: literalRest) else { return .malformed(at: index, .literal) }
        literalRest >>= 8
        if literalRest == 0 { place = .comma }

      case .minus:
        switch byte {
        case UInt8(ascii: "0"): place = .zero
        case UInt8(ascii: "1")...UInt8(ascii: "9"): place = .integer
        default: return .malformed(at: index, .number)
        }

      case .zero, .integer:
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"):
          if place == .zero { return .malformed(at: index, .number) }
        case UInt8(ascii: "."): place = .point
        case UInt8(ascii: "e"), UInt8(ascii: "E"): place = .exponent
        default:
          // The byte after a number is not part of it: look at it again as what follows a value.
          place = .comma
          continue
        }

      case .point:
        guard Self.isDigit(byte) else { return .malformed(at: index, .number) }
        place = .fraction

      case .fraction:
        if byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") {
          place = .exponent
        } else if !Self.isDigit(byte) {
          place = .comma
          continue
        }

      case .exponent, .exponentSign:
        if place == .exponent, byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") {
          place = .exponentSign
        } else if Self.isDigit(byte) {
          place = .exponentDigits
        } else {
          return .malformed(at: index, .number)
        }

      case .exponentDigits:
        if !Self.isDigit(byte) {
          place = .comma
          continue
        }

      case .text:
        guard byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") else {
          return .malformed(at: index, .textExpected)
        }
        guard open(object: byte == UInt8(ascii: "{")) else { return .malformed(at: index, .nesting) }
        values = 1
        place = isInObject ? .firstMember : .firstElement
      }
      index += 1
    }
    return .incomplete
  }

  /// Notes an opening bracket; false when that is deeper than allowed.
  private mutating func open(object: Bool) -> Bool {
    guard depth < maximumDepth else { return false }
    let (word, bit) = (depth >> 6, UInt64(1) << UInt64(depth & 63))
    if word == objects.count { objects.append(0) }
    if object { objects[word] |= bit } else { objects[word] &= ~bit }
    depth += 1
    isInObject = object
    return true
  }

  /// Notes a closing bracket that matches the open one.
  private mutating func close() {
    depth -= 1
    guard depth > 0 else { return }
    let outer = depth - 1
    isInObject = objects[outer >> 6] & (UInt64(1) << UInt64(outer & 63)) != 0
  }

  /// `rue`, `alse` and `ull`, the first byte lowest.
  private static let restOfTrue: UInt32 = 0x65_75_72
  private static let restOfFalse: UInt32 = 0x65_73_6C_61
  private static let restOfNull: UInt32 = 0x6C_6C_75

  /// Whether `byte` is white space between tokens.
  @inline(__always)
  static func isBlank(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
  }

  @inline(__always)
  private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") <= 9 }

  private static func isHexDigit(_ byte: UInt8) -> Bool {
    isDigit(byte) || (byte | 0x20) &- UInt8(ascii: "a") <= 5
  }
}
