/// What callers may bring along to have a token validated.
public struct ValidationConfiguration: Sendable, Equatable {
  /// Whether callers may pass a key set of their own (`jwks`). Default true.
  public var inlineJwks: Bool
  /// The origins from which callers may have key sets fetched (`jwksUrl`). Default none.
  public var jwksOrigins: [String]
}

extension ValidationConfiguration: ConfigurationSection {
  init(reading keys: SectionReader) {
    inlineJwks = keys.value("inlineJwks", .boolean, default: true, "Whether callers may pass a key set as jwks.")
    jwksOrigins = keys.list(
      "jwksOrigins", of: .origin, default: [],
      "Origins, as in https://host, that callers may name in jwksUrl. Empty: none.")
  }
}
