public import PosternJSON

/// Request parameters: any JSON object; its strings may hold U+0000 (wire.md section 2).
public struct ParameterObject: RawJSONDecodable, SchemaDescribed, Sendable {
  /// The parameters in order.
  public let object: JSONObject

  /// Takes an object.
  public init(rawJSON json: JSONValue) throws(RawJSONProblem) {
    guard case .object(let object) = json else {
      throw RawJSONProblem(.mismatch(expected: "an object", actual: json.kind))
    }
    self.object = object
  }

  private init(object: JSONObject) { self.object = object }

  /// Never used: `JSONValueDecoder` takes the raw value.
  public init(from decoder: any Decoder) throws {
    object = try JSONValue(from: decoder).objectValue ?? JSONObject()
  }

  /// The object.
  public func encode(to encoder: any Encoder) throws { try JSONValue.object(object).encode(to: encoder) }

  /// An object of anything.
  public static var schema: JSONValue { ["type": "object"] }
  /// No parameters.
  public static var sample: ParameterObject { ParameterObject(object: JSONObject()) }
}
