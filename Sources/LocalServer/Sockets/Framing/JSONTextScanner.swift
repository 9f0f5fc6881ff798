import HTTPMessages
import PosternSupport

/// Finds the end of one JSON text (RFC 8259, an object or array) in one pass that keeps its state across reads.
///
/// It follows the whole grammar of brackets, strings, escapes, numbers and literals, so that a text that can no longer
/// become JSON is seen at its first wrong byte and costs only its line. It counts values, each of which costs the
/// parser many times its bytes. It does not look at UTF-8, surrogate pairs, number ranges or duplicate names: the
/// parser does, once, on the whole text.
struct JSONTextScanner: Sendable {
  /// The result of scanning a stretch of bytes.
  enum Verdict: Hashable {
    /// All bytes belong to the text, which goes on.
    case incomplete
    /// The text ends before the byte at `end`.
    case complete(end: Int)
    /// The byte at `at` is not allowed there.
    case malformed(at: Int, JSONDefect)
    /// The byte at `at` starts one value more than allowed. Reported once a text, which can be scanned on from there.
    case tooManyValues(at: Int)
  }

  /// The position of the next byte in the grammar.
  private enum Position {
    case text
    case firstMember, member, colon
    case firstElement, value, comma
    case string, escape, hexDigits
    case literal
    case minus, zero, integer, point, fraction, exponent, exponentSign, exponentDigits
  }

  private let maximumDepth: Int
  private let maximumValues: Int
  private var position = Position.text
  private var depth = 0
  /// The values that have begun: scalars, arrays and objects; member names are not values.
  private var values = 0
  /// One bit per open bracket, the outermost lowest: 1 for an object. Allocated with the first text.
  private var objects: [UInt64] = []
  private var isInObject = false
  private var stringIsName = false
  private var hexDigitsLeft = 0
  /// The rest of `true`, `false` or `null`, the next byte lowest.
  private var literalRest: UInt32 = 0

  /// A scanner that calls more than `maximumDepth` open brackets malformed and counts up to `maximumValues` values.
  init(maximumDepth: Int, maximumValues: Int = .max) {
    self.maximumDepth = max(1, maximumDepth)
    // One less than the largest number: the count goes one beyond the limit.
    self.maximumValues = min(max(1, maximumValues), .max - 1)
  }

  /// Drops the current text; the next byte starts a new one.
  mutating func reset() {
    position = .text
    depth = 0
    values = 0
    isInObject = false
  }

  /// Scans `bytes` from the index `start` on. After `complete` and `malformed`, `reset()` comes first.
  mutating func scan(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Verdict {
    guard let base = bytes.baseAddress else { return .incomplete }
    let end = bytes.count
    var index = start
    var position = self.position
    defer { self.position = position }
    while index < end {
      let byte = base.load(fromByteOffset: index, as: UInt8.self)
      switch position {
      case .string:
        index = PlainRun.end(of: base, from: index, to: end)
        guard index < end else { return .incomplete }
        switch base.load(fromByteOffset: index, as: UInt8.self) {
        case UInt8(ascii: "\""): position = stringIsName ? .colon : .comma
        case UInt8(ascii: "\\"): position = .escape
        default: return .malformed(at: index, .controlCharacter)
        }

      case .escape:
        switch byte {
        case UInt8(ascii: "u"):
          hexDigitsLeft = 4
          position = .hexDigits
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
          UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
          position = .string
        default: return .malformed(at: index, .escape)
        }

      case .hexDigits:
        guard Hexadecimal.isDigit(byte) else { return .malformed(at: index, .escape) }
        hexDigitsLeft -= 1
        if hexDigitsLeft == 0 { position = .string }

      case .comma:
        switch byte {
        case UInt8(ascii: ","): position = isInObject ? .member : .value
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
          guard isInObject == (byte == UInt8(ascii: "}")) else { return .malformed(at: index, .bracketMismatch) }
          close()
          if depth == 0 { return .complete(end: index + 1) }
        case let byte where ASCII.isJSONSpace(byte): break
        default: return .malformed(at: index, .commaExpected)
        }

      case .firstMember, .member:
        switch byte {
        case UInt8(ascii: "\""):
          stringIsName = true
          position = .string
        case UInt8(ascii: "}") where position == .firstMember:
          close()
          if depth == 0 { return .complete(end: index + 1) }
          position = .comma
        case UInt8(ascii: "]") where position == .firstMember: return .malformed(at: index, .bracketMismatch)
        case let byte where ASCII.isJSONSpace(byte): break
        default: return .malformed(at: index, .memberNameExpected)
        }

      case .colon:
        if byte == UInt8(ascii: ":") {
          position = .value
        } else if !ASCII.isJSONSpace(byte) {
          return .malformed(at: index, .colonExpected)
        }

      case .value, .firstElement:
        if !ASCII.isJSONSpace(byte), byte != UInt8(ascii: "]") {
          values &+= 1
          // Only the first one beyond the limit: when the scan goes on there, the count is past it.
          if values == maximumValues &+ 1 { return .tooManyValues(at: index) }
        }
        switch byte {
        case UInt8(ascii: "\""):
          stringIsName = false
          position = .string
        case UInt8(ascii: "{"), UInt8(ascii: "["):
          guard open(object: byte == UInt8(ascii: "{")) else { return .malformed(at: index, .nesting) }
          position = isInObject ? .firstMember : .firstElement
        case UInt8(ascii: "]") where position == .firstElement:
          close()
          if depth == 0 { return .complete(end: index + 1) }
          position = .comma
        case UInt8(ascii: "}") where position == .firstElement: return .malformed(at: index, .bracketMismatch)
        case UInt8(ascii: "-"): position = .minus
        case UInt8(ascii: "0"): position = .zero
        case UInt8(ascii: "1")...UInt8(ascii: "9"): position = .integer
        case UInt8(ascii: "t"): (position, literalRest) = (.literal, Self.restOfTrue)
        case UInt8(ascii: "f"): (position, literalRest) = (.literal, Self.restOfFalse)
        case UInt8(ascii: "n"): (position, literalRest) = (.literal, Self.restOfNull)
        case let byte where ASCII.isJSONSpace(byte): break
        default: return .malformed(at: index, .valueExpected)
        }

      case .literal:
        guard byte == UInt8(truncatingIfNeeded: literalRest) else { return .malformed(at: index, .literal) }
        literalRest >>= 8
        if literalRest == 0 { position = .comma }

      case .minus:
        switch byte {
        case UInt8(ascii: "0"): position = .zero
        case UInt8(ascii: "1")...UInt8(ascii: "9"): position = .integer
        default: return .malformed(at: index, .number)
        }

      case .zero, .integer:
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"):
          if position == .zero { return .malformed(at: index, .number) }
        case UInt8(ascii: "."): position = .point
        case UInt8(ascii: "e"), UInt8(ascii: "E"): position = .exponent
        default:
          // The byte after a number is not part of it: look at it again as what follows a value.
          position = .comma
          continue
        }

      case .point:
        guard Self.isDigit(byte) else { return .malformed(at: index, .number) }
        position = .fraction

      case .fraction:
        if byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") {
          position = .exponent
        } else if !Self.isDigit(byte) {
          position = .comma
          continue
        }

      case .exponent, .exponentSign:
        if position == .exponent, byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") {
          position = .exponentSign
        } else if Self.isDigit(byte) {
          position = .exponentDigits
        } else {
          return .malformed(at: index, .number)
        }

      case .exponentDigits:
        if !Self.isDigit(byte) {
          position = .comma
          continue
        }

      case .text:
        guard byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") else {
          return .malformed(at: index, .textExpected)
        }
        guard open(object: byte == UInt8(ascii: "{")) else { return .malformed(at: index, .nesting) }
        values = 1
        position = isInObject ? .firstMember : .firstElement
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

  @inline(__always)
  private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") <= 9 }
}

/// Why bytes cannot be a JSON text (RFC 8259), as far as one pass over brackets, strings and tokens can see.
enum JSONDefect: Sendable, Hashable {
  case bracketMismatch
  case colonExpected
  case commaExpected
  case controlCharacter
  case cutOff
  case escape
  case literal
  case memberNameExpected
  case nesting
  case number
  case textExpected
  case valueExpected

  /// One clause for people, with no byte of the input in it: the input may hold secrets.
  var reason: String {
    switch self {
    case .bracketMismatch: "a closing bracket that does not match the open one"
    case .colonExpected: "a colon is missing after a member name"
    case .commaExpected: "a comma or a closing bracket is missing after a value"
    case .controlCharacter: "a raw control character inside a string"
    case .cutOff: "the text is cut off by the end of the input"
    case .escape: "an unknown escape sequence in a string"
    case .literal: "an unknown literal"
    case .memberNameExpected: "a member name in double quotes is missing"
    case .nesting: "nested deeper than limits.depth"
    case .number: "a number that JSON does not allow"
    case .textExpected: "a JSON text starts with { or ["
    case .valueExpected: "a value is missing"
    }
  }
}

/// The stretch of a JSON string that needs no look byte by byte: eight bytes at a time.
enum PlainRun {
  /// The index of the first quotation mark, reverse solidus or control character in `from..<to`, or `to`.
  @inline(__always)
  static func end(of base: UnsafeRawPointer, from: Int, to: Int) -> Int {
    var index = from
    while index &+ 8 <= to {
      let word = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: index, as: UInt64.self))
      let special = zeroBytes(word ^ repeated(0x22)) | zeroBytes(word ^ repeated(0x5C)) | bytesBelow32(word)
      // The lowest mark is exact; borrows can only make false ones above it.
      if special != 0 { return index &+ special.trailingZeroBitCount &>> 3 }
      index &+= 8
    }
    while index < to {
      let byte = base.load(fromByteOffset: index, as: UInt8.self)
      if byte == 0x22 || byte == 0x5C || byte < 0x20 { return index }
      index &+= 1
    }
    return to
  }

  @inline(__always)
  private static func repeated(_ byte: UInt64) -> UInt64 { byte &* 0x0101_0101_0101_0101 }

  /// Marks the top bit of bytes that are zero.
  @inline(__always)
  private static func zeroBytes(_ word: UInt64) -> UInt64 {
    (word &- repeated(0x01)) & ~word & repeated(0x80)
  }

  /// Marks the top bit of bytes below 0x20.
  @inline(__always)
  private static func bytesBelow32(_ word: UInt64) -> UInt64 {
    (word &- repeated(0x20)) & ~word & repeated(0x80)
  }
}
