/// Decodes `Decodable` types from `JSONValue` strictly: unknown members, reals for integers and U+0000 are errors with
/// a path.
public struct JSONValueDecoder: Sendable {
  /// Whether members nobody asked for are ignored: for answers of other servers, never for callers' params.
  public var ignoresUnknownMembers: Bool

  /// A strict decoder, unless told otherwise.
  public init(ignoresUnknownMembers: Bool = false) { self.ignoresUnknownMembers = ignoresUnknownMembers }

  /// The value as `type`.
  public func decode<Value: Decodable>(
    _ type: Value.Type, from value: JSONValue
  ) throws(JSONDecodingError) -> Value {
    do {
      return try DecodingNode.decode(type, value, at: .root, options: self)
    } catch let error as JSONDecodingError {
      throw error
    } catch {
      throw JSONDecodingError(path: "", problem: .invalid("is not acceptable"))
    }
  }
}
