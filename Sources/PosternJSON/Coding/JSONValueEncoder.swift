/// Encodes `Encodable` types to `JSONValue`; members keep the order in which they are encoded, nil members are left
/// out.
public struct JSONValueEncoder: Sendable {
  /// An encoder.
  public init() {}

  /// The JSON value of `value`. Throws `EncodingError` for numbers JSON cannot express.
  public func encode(_ value: some Encodable) throws -> JSONValue {
    try EncodingNode.encode(value, at: [])
  }
}
