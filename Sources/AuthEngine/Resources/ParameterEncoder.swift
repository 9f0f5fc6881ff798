import HTTPMessages
import JSON

/// Parameters as `name=value` pairs, for queries and forms: nested objects `a[b]=`, arrays `a[]=` repeated, booleans
/// `true` and `false`, null a bare name. Members are sorted by name at every level, array elements keep their order.
/// Everything but unreserved characters, `/` and `?` is percent-encoded, the brackets included. Empty objects and
/// arrays leave nothing.
///
/// A name is repeated for each element, so that a small object can stand for any amount of text: the result is bounded while it is made.
struct ParameterEncoder {
  /// The text would be longer than allowed.
  struct TooLarge: Error {
    let limit: Int
  }

  private let limit: Int
  private var text = ""

  private init(limit: Int) { self.limit = limit }

  /// The pairs of `parameters`, joined by `&`, at most `limit` bytes.
  static func encode(_ parameters: JSONObject, limit: Int) throws(TooLarge) -> String {
    var encoder = ParameterEncoder(limit: limit)
    try encoder.append(parameters, prefix: nil)
    return encoder.text
  }

  /// `prefix` and `name` are percent-encoded already: once for all that lies below them.
  private mutating func append(_ object: JSONObject, prefix: String?) throws(TooLarge) {
    let members = object.members.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    for member in members {
      let name = PercentEncoding.encode(member.name, for: .query)
      try append(member.value, name: prefix.map { "\($0)%5B\(name)%5D" } ?? name)
    }
  }

  /// Recursion is bounded by the parser's nesting limit.
  private mutating func append(_ value: JSONValue, name: String) throws(TooLarge) {
    guard name.utf8.count <= limit else { throw TooLarge(limit: limit) }
    switch value {
    case .object(let object): try append(object, prefix: name)
    case .array(let elements): for element in elements { try append(element, name: "\(name)%5B%5D") }
    case .null: try append(pair: name)
    case .string(let text): try append(pair: "\(name)=\(PercentEncoding.encode(text, for: .query))")
    case .bool, .integer, .real:
      try append(pair: "\(name)=\(PercentEncoding.encode(JSONWriter().string(value), for: .query))")
    }
  }

  private mutating func append(pair: String) throws(TooLarge) {
    guard text.utf8.count + pair.utf8.count < limit else { throw TooLarge(limit: limit) }
    if !text.isEmpty { text += "&" }
    text += pair
  }
}
