public import PosternJSON

/// A body given as text: the one string that may hold U+0000 (wire.md section 2).
public struct BodyText: RawJSONDecodable, SchemaDescribed, Sendable {
  /// The text.
  public let text: String

  /// Takes a string.
  public init(rawJSON json: JSONValue) throws(RawJSONProblem) {
    guard case .string(let text) = json else {
      throw RawJSONProblem(.mismatch(expected: "a string", actual: json.kind))
    }
    self.text = text
  }

  private init(text: String) { self.text = text }

  /// Never used: `JSONValueDecoder` takes the raw value.
  public init(from decoder: any Decoder) throws { text = try String(from: decoder) }

  /// The text.
  public func encode(to encoder: any Encoder) throws { try text.encode(to: encoder) }

  /// A string.
  public static var schema: JSONValue { ["type": "string"] }
  /// An empty body.
  public static var sample: BodyText { BodyText(text: "") }
}
