import HTTPMessages
import PosternJSON

/// Parameters as names and values, for queries, forms and multipart fields: nested objects `a[b]`, arrays `a[]`
/// repeated, booleans `true` and `false`, null a bare name. Members are sorted by name at every level, array elements
/// keep their order. Empty objects and arrays leave nothing.
///
/// In queries and forms everything but unreserved characters, `/` and `?` is percent-encoded, the brackets included. A
/// name is written for each element, so that a small object can stand for any amount of text: the result is bounded
/// while it is made.
struct ParameterEncoder {
  /// The text would be longer than allowed.
  struct TooLarge: Error {
    let limit: Int
  }

  /// A name with its value; nil for null.
  typealias Pair = (name: String, value: String?)

  private let limit: Int
  private let isPercentEncoded: Bool
  private var pairs: [Pair] = []
  private var size = 0

  private init(limit: Int, isPercentEncoded: Bool) {
    self.limit = limit
    self.isPercentEncoded = isPercentEncoded
  }

  /// The most encoded bytes for each byte of the parameters as JSON, if there are more than 256 KiB. Nested objects need 5
  /// to 15. Without this bound a few kilobytes, a long name and many elements, could make a form of the largest size.
  static let mostPerByte = 16
  private static let allowedAnyway = 256 << 10

  private static func bound(_ parameters: JSONObject, _ limit: Int) -> Int {
    guard limit > allowedAnyway else { return limit }
    let given = JSONWriter().withBytes(of: .object(parameters)) { $0.count }
    return min(limit, max(allowedAnyway, mostPerByte * given))
  }

  /// `name=value` pairs joined by `&`, percent-encoded, at most `limit` bytes.
  static func encode(_ parameters: JSONObject, limit: Int) throws(TooLarge) -> String {
    var encoder = ParameterEncoder(limit: bound(parameters, limit), isPercentEncoded: true)
    try encoder.append(parameters, prefix: nil)
    return encoder.pairs.map { pair in pair.value.map { "\(pair.name)=\($0)" } ?? pair.name }.joined(separator: "&")
  }

  /// The pairs as they are, names and values together at most `limit` bytes.
  static func pairs(_ parameters: JSONObject, limit: Int) throws(TooLarge) -> [Pair] {
    var encoder = ParameterEncoder(limit: bound(parameters, limit), isPercentEncoded: false)
    try encoder.append(parameters, prefix: nil)
    return encoder.pairs
  }

  /// The bytes of the pairs with one separator each, without making them.
  static func size(of parameters: JSONObject, isPercentEncoded: Bool) -> Int {
    let bracket = isPercentEncoded ? 3 : 1
    func encoded(_ text: String) -> Int {
      isPercentEncoded ? PercentEncoding.byteCount(of: text, for: .query) : text.utf8.count
    }
    func size(_ value: JSONValue, name: Int) -> Int {
      switch value {
      case .object(let object):
        object.members.reduce(0) { $0 + size($1.value, name: name + encoded($1.name) + 2 * bracket) }
      case .array(let elements): elements.reduce(0) { $0 + size($1, name: name + 2 * bracket) }
      case .null: name + 1
      case .string(let text): name + encoded(text) + 2
      case .bool, .integer, .real: name + encoded(JSONWriter().string(value)) + 2
      }
    }
    return parameters.members.reduce(0) { $0 + size($1.value, name: encoded($1.name)) }
  }

  /// `prefix` and `name` are percent-encoded already: once for all that lies below them.
  private mutating func append(_ object: JSONObject, prefix: String?) throws(TooLarge) {
    let members = object.members.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    for member in members {
      let name = encoded(member.name)
      try append(member.value, name: prefix.map { "\($0)\(encoded("["))\(name)\(encoded("]"))" } ?? name)
    }
  }

  /// Recursion is bounded by the parser's nesting limit.
  private mutating func append(_ value: JSONValue, name: String) throws(TooLarge) {
    guard name.utf8.count <= limit else { throw TooLarge(limit: limit) }
    switch value {
    case .object(let object): try append(object, prefix: name)
    case .array(let elements): for element in elements { try append(element, name: "\(name)\(encoded("[]"))") }
    case .null: try append((name, nil))
    case .string(let text): try append((name, encoded(text)))
    case .bool, .integer, .real: try append((name, encoded(JSONWriter().string(value))))
    }
  }

  private mutating func append(_ pair: Pair) throws(TooLarge) {
    size += pair.name.utf8.count + (pair.value.map { $0.utf8.count + 1 } ?? 0) + (pairs.isEmpty ? 0 : 1)
    guard size <= limit else { throw TooLarge(limit: limit) }
    pairs.append(pair)
  }

  private func encoded(_ text: String) -> String {
    isPercentEncoded ? PercentEncoding.encode(text, for: .query) : text
  }
}
