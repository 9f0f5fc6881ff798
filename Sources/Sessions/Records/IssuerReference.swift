import OAuthClient

/// The issuer and the client that a record belongs to, whatever its name in the configuration means later.
struct IssuerReference: Sendable, Codable {
  /// The issuer's name in the configuration.
  let name: String
  let identifier: String
  let clientID: String

  private enum CodingKeys: String, CodingKey {
    case name = "issuer"
    case identifier = "issuerIdentifier"
    case clientID
  }

  init(_ issuer: Issuer) {
    name = issuer.name
    identifier = issuer.identifier
    clientID = issuer.clientID
  }

  /// Whether the issuer of that name is the same one still, for the same client.
  func isIdentical(to issuer: Issuer) -> Bool {
    identifier == issuer.identifier && clientID == issuer.clientID
  }
}
