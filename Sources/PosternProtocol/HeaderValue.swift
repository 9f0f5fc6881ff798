public import PosternJSON

/// A header's value, or its values in order.
public struct HeaderValue: SchemaDescribed, Sendable {
  /// The values, at least as many as were given.
  public let values: [String]

  private init(values: [String]) { self.values = values }

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
