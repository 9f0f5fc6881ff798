public import PosternJSON
public import ResourceAccess

extension ResourceResponse {
  /// The body as text; nil where it is not UTF-8, whatever `Content-Type` states.
  public var text: String? { String(validating: body, as: UTF8.self) }

  /// The body as JSON, whatever `Content-Type` states; a value that is neither object nor array is JSON, too.
  public func json() throws(JSONParseError) -> JSONValue {
    try JSONParser(maxBytes: .max, allowsNUL: true, allowsScalar: true).parse(body)
  }

  /// The body, which must be JSON, as `type`. Members that the type does not have are ignored; everything else that
  /// does not fit is a `JSONDecodingError` with its path, and text that is not JSON a `JSONParseError`.
  public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
    try JSONValueDecoder(ignoresUnknownMembers: true).decode(type, from: json())
  }
}
