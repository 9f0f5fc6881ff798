import Glibc
public import PosternSupport

/// A JSON value. Objects keep the order of their members, so that a server's response is passed on as received.
public enum JSONValue: Sendable, Hashable {
  /// `null`.
  case null
  /// `true` or `false`.
  case bool(Bool)
  /// A number without fraction and exponent that fits 64 bits.
  case integer(Int64)
  /// Any other number; always finite.
  case real(Double)
  /// A string.
  case string(String)
  /// An array.
  case array([JSONValue])
  /// An object.
  case object(JSONObject)
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  /// `null`.
  public init(nilLiteral: ()) { self = .null }
  /// A boolean.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  /// An integer.
  public init(integerLiteral value: Int64) { self = .integer(value) }
  /// A real number.
  public init(floatLiteral value: Double) { self = .real(value) }
  /// A string.
  public init(stringLiteral value: String) { self = .string(value) }
  /// An array.
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  /// An object; of repeated names the last value wins.
  public init(dictionaryLiteral elements: (String, JSONValue)...) { self = .object(JSONObject(elements)) }
}

extension JSONValue {
  /// The value as a boolean, or nil.
  public var boolValue: Bool? { if case .bool(let value) = self { value } else { nil } }

  /// The value as an integer, or nil; a real is never one, not even `1.0`.
  public var integerValue: Int64? { if case .integer(let value) = self { value } else { nil } }

  /// The value as a number, integer or real, or nil.
  public var numberValue: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .real(let value): value
    default: nil
    }
  }

  /// The value as a string, or nil.
  public var stringValue: String? { if case .string(let value) = self { value } else { nil } }

  /// The elements of an array, or nil.
  public var arrayValue: [JSONValue]? { if case .array(let value) = self { value } else { nil } }

  /// The object, or nil.
  public var objectValue: JSONObject? { if case .object(let value) = self { value } else { nil } }

  /// The member `name` of an object; nil when absent or when this is no object.
  public subscript(name: String) -> JSONValue? { objectValue?[name] }

  /// The kind of the value, as JSON Schema names it.
  public var kind: String {
    switch self {
    case .null: "null"
    case .bool: "boolean"
    case .integer: "integer"
    case .real: "number"
    case .string: "string"
    case .array: "array"
    case .object: "object"
    }
  }

  /// Whether any string in it, at any depth and member names included, holds U+0000.
  public var containsNUL: Bool {
    switch self {
    case .string(let value): value.containsNUL
    case .array(let elements): elements.contains { $0.containsNUL }
    case .object(let object): object.members.contains { $0.name.containsNUL || $0.value.containsNUL }
    default: false
    }
  }
}

extension JSONValue {
  /// The approximate length of its text in bytes, before strings are escaped; stops counting at `limit`.
  public func weight(upTo limit: Int) -> Int {
    switch self {
    case .null, .bool, .integer, .real: 8
    case .string(let text): text.utf8.count + 2
    case .array(let elements):
      Self.sum(elements, upTo: limit) { $0.weight(upTo: $1) + 1 }
    case .object(let object):
      Self.sum(object.members, upTo: limit) { $0.name.utf8.count + 4 + $0.value.weight(upTo: $1) }
    }
  }

  private static func sum<Element>(_ elements: [Element], upTo limit: Int, _ weight: (Element, Int) -> Int) -> Int {
    var total = 2
    for element in elements where total < limit { total += weight(element, limit - total) }
    return total
  }
}

extension String {
  /// Whether it contains U+0000. Fast, since every received string is checked and some are long.
  var containsNUL: Bool {
    let found = utf8.withContiguousStorageIfAvailable { text in
      text.baseAddress.map { memchr($0, 0, text.count) != nil } ?? false
    }
    return found ?? utf8.contains(0)
  }
}

extension JSONValue: ConciseStringConvertible {
  private static let shownCharacters = 32

  /// A scalar as JSON, an array's count, the names of an object's members. The length of a string of more than 32
  /// characters: tokens and keys are longer. `JSONWriter` writes all of it.
  public var description: String {
    switch self {
    case .string(let text) where text.count > Self.shownCharacters:
      "string of \(Concise.count(text.count, "character"))"
    case .null, .bool, .integer, .real, .string: String(decoding: JSONWriter().write(self), as: UTF8.self)
    case .array(let elements): "array of \(Concise.count(elements.count, "element"))"
    case .object(let object): "\(object)"
    }
  }
}
