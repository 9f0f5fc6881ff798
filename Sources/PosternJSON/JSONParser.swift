import CPosternJansson
import Glibc
public import PosternSupport

/// A strict JSON parser over jansson: no duplicate member names, bounded size and depth, U+0000 only on request.
public struct JSONParser: Sendable {
  /// The largest text in bytes.
  public var maxBytes: Int
  /// The deepest nesting; `[]` is 1. jansson itself stops at 2,048.
  public var maxDepth: Int
  /// Whether strings may hold U+0000: only for resource bodies, never for tokens.
  public var allowsNUL: Bool
  /// Whether the top level may be a scalar.
  public var allowsScalar: Bool

  /// A parser with the given limits.
  public init(maxBytes: Int = 16 << 20, maxDepth: Int = 128, allowsNUL: Bool = false, allowsScalar: Bool = false) {
    self.maxBytes = maxBytes
    self.maxDepth = maxDepth
    self.allowsNUL = allowsNUL
    self.allowsScalar = allowsScalar
  }

  /// Parses one text; nothing but white space may follow it.
  public func parse(_ bytes: [UInt8]) throws(JSONParseError) -> JSONValue {
    try tree(of: bytes).value
  }

  /// Parses one text given as a string.
  public func parse(_ text: String) throws(JSONParseError) -> JSONValue {
    try parse(Array(text.utf8))
  }

  /// Parses one text in place; nothing but white space may follow it.
  public func parse(_ buffer: UnsafeRawBufferPointer) throws(JSONParseError) -> JSONValue { try tree(of: buffer).value }

  /// Parses one text; nothing but white space may follow it.
  public func tree(of bytes: [UInt8]) throws(JSONParseError) -> JSONTree {
    try bytes.withUnsafeBufferPointer { (buffer) throws(JSONParseError) in try tree(of: UnsafeRawBufferPointer(buffer))
    }
  }

  /// Parses one text in place, to be read member by member; nothing but white space may follow it.
  public func tree(of buffer: UnsafeRawBufferPointer) throws(JSONParseError) -> JSONTree {
    guard buffer.count <= maxBytes else { throw JSONParseError(kind: .tooLarge) }
    guard !buffer.isEmpty, let base = buffer.baseAddress else { throw JSONParseError(kind: .truncated) }
    if let offset = NestingScan.firstOffset(deeperThan: maxDepth, in: buffer) {
      throw JSONParseError(kind: .tooDeep, offset: offset)
    }
    // No JSON text has a NUL in it, but jansson drops one that follows a number or a literal.
    if let nul = memchr(base, 0, buffer.count) {
      throw JSONParseError(kind: .syntax, offset: UnsafeRawPointer(nul) - base)
    }
    Jansson.seedOnce
    var flags = Int(JSON_REJECT_DUPLICATES)
    if allowsNUL { flags |= Int(JSON_ALLOW_NUL) }
    if allowsScalar { flags |= Int(JSON_DECODE_ANY) }
    var error = json_error_t()
    guard let root = json_loadb(base, buffer.count, flags, &error) else {
      throw JSONParseError(kind: Jansson.kind(of: error), offset: Int(error.position))
    }
    return JSONTree(owning: root)
  }
}

/// The reason why a text is not acceptable JSON. Never quotes the text, which may contain secrets.
public struct JSONParseError: Error, Sendable, Hashable, ConciseStringConvertible {
  /// The kind of fault.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// Not JSON.
    case syntax
    /// Two members of one object with the same name, escapes resolved.
    case duplicateMember
    /// Nested more deeply than the limit.
    case tooDeep
    /// Larger than the limit.
    case tooLarge
    /// Not UTF-8, or an unpaired surrogate.
    case encoding
    /// A number beyond 64-bit integers or doubles.
    case numberOutOfRange
    /// U+0000 where it is not accepted.
    case nul
    /// The text ended early, or there was none.
    case truncated
  }

  /// The kind of fault.
  public let kind: Kind
  /// The offset of the fault in bytes, where known.
  public let offset: Int?

  /// An error of the given parts.
  public init(kind: Kind, offset: Int? = nil) {
    self.kind = kind
    self.offset = offset
  }

  /// A sentence for people.
  public var description: String {
    let what =
      switch kind {
      case .syntax: "not valid JSON"
      case .duplicateMember: "duplicate member name in an object"
      case .tooDeep: "nested too deeply"
      case .tooLarge: "too large"
      case .encoding: "not valid UTF-8"
      case .numberOutOfRange: "number out of range"
      case .nul: "U+0000 is not accepted here"
      case .truncated: "ends too early"
      }
    return offset.map { "\(what) (byte \($0))" } ?? what
  }
}

/// Checks the nesting of a text before it is parsed, in one pass. Brackets inside strings are not counted.
enum NestingScan {
  /// The offset of the first bracket that opens a level beyond `limit`, or nil.
  static func firstOffset(deeperThan limit: Int, in buffer: UnsafeRawBufferPointer) -> Int? {
    // A text cannot be deeper than it has bytes.
    guard buffer.count > limit else { return nil }
    // Nor deeper than it has opening brackets, inside strings or not, and most texts have few of them.
    let openings = count(UInt8(ascii: "{"), in: buffer, upTo: limit + 1)
    guard openings + count(UInt8(ascii: "["), in: buffer, upTo: limit + 1) > limit else { return nil }
    var depth = 0
    var inString = false
    var escaped = false
    for offset in buffer.indices {
      let byte = buffer[offset]
      if inString {
        if escaped {
          escaped = false
        } else if byte == UInt8(ascii: "\\") {
          escaped = true
        } else if byte == UInt8(ascii: "\"") {
          inString = false
        }
      } else if byte == UInt8(ascii: "\"") {
        inString = true
      } else if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") {
        depth += 1
        if depth > limit { return offset }
      } else if byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]") {
        depth -= 1
      }
    }
    return nil
  }

  /// The number of occurrences of `byte`, at most `limit`.
  private static func count(_ byte: UInt8, in buffer: UnsafeRawBufferPointer, upTo limit: Int) -> Int {
    var count = 0
    var rest = buffer
    while count < limit, let base = rest.baseAddress, let found = memchr(base, Int32(byte), rest.count) {
      count += 1
      rest = UnsafeRawBufferPointer(rebasing: rest[(found - UnsafeMutableRawPointer(mutating: base) + 1)...])
    }
    return count
  }
}

extension JSONParser: ConciseStringConvertible {
  /// The limits.
  public var description: String { "at most \(Concise.count(maxBytes, "byte")), \(Concise.count(maxDepth, "level"))" }
}
