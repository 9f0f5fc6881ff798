public import PosternJSON

/// A header's value, or its values in order.
public struct HeaderValue: SchemaDescribed, Sendable {
  /// The values, at least as many as were given.
  public let values: [String]

  private init(values: [String]) { self.values = values }

  /// The value of a member of `headers`; nil if it is neither a string nor an array of strings.
  fileprivate init?(_ member: JSONTree.Member) {
    var (values, value): ([String]?, String?)
    guard !member.isNull, member.isArray ? member.read(&values) : member.read(&value) else { return nil }
    self.values = values ?? value.map { [$0] } ?? []
  }

  /// Takes a string or an array of strings.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let list = try? decoder.unkeyedContainer(), list.count != nil {
      values = try container.decode([String].self)
    } else {
      values = [try container.decode(String.self)]
    }
  }

  /// A string, or an array.
  public func encode(to encoder: any Encoder) throws {
    if values.count == 1 { try values[0].encode(to: encoder) } else { try values.encode(to: encoder) }
  }

  /// Either form.
  public static var schema: JSONValue {
    ["oneOf": [["type": "string"], ["type": "array", "items": ["type": "string"]]]]
  }
  /// One empty value.
  public static var sample: HeaderValue { HeaderValue(values: [""]) }
}

extension JSONTree.Member {
  /// Reads headers; null leaves `place` as it is.
  func read(_ place: inout [String: HeaderValue]?) -> Bool {
    guard !isNull else { return true }
    guard var fields = members else { return false }
    var headers: [String: HeaderValue] = [:]
    while let field = fields.next() {
      guard let value = HeaderValue(field) else { return false }
      headers[field.nameText] = value
    }
    place = headers
    return true
  }
}
