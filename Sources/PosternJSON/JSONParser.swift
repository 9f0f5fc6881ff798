import CPosternJansson
import Glibc

/// jansson as a strict parser: duplicates refused, size and depth bounded, U+0000 only on request.
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
    try bytes.withUnsafeBufferPointer { (buffer) throws(JSONParseError) in try parse(UnsafeRawBufferPointer(buffer)) }
  }

  /// Parses one text given as a string.
  public func parse(_ text: String) throws(JSONParseError) -> JSONValue {
    try parse(Array(text.utf8))
  }

  /// Parses one text in place; nothing but white space may follow it.
  public func parse(_ buffer: UnsafeRawBufferPointer) throws(JSONParseError) -> JSONValue {
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
    let reference = Jansson.Reference(owning: root)
    return reference.withPointer { Jansson.value(from: $0) }
  }
}
