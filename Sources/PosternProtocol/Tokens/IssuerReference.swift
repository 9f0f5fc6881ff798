public import PosternJSON

/// The issuer of the tokens: a configured one by name, or the pieces, all in the params themselves.
public protocol IssuerReference: Sendable {
  var issuer: String? { get }
  var expectedIssuer: String? { get }
  var clientId: String? { get }
  var jwks: JSONValue? { get }
  var jwksUrl: String? { get }
}

/// The meaning of the members of an `IssuerReference`.
enum IssuerReferenceDocs {
  static let members = [
    "issuer": "A configured issuer's name; excludes expectedIssuer, jwks and jwksUrl",
    "expectedIssuer": "Instead of issuer: the expected iss, with jwks or jwksUrl",
    "jwks": "Instead of issuer: the key set, where the configuration allows it (validation.inlineJwks)",
    "jwksUrl": "Instead of issuer: where the key set is; its origin must be in validation.jwksOrigins",
  ]

  static func with(_ own: [String: String]) -> [String: String] { members.merging(own) { _, own in own } }
}
