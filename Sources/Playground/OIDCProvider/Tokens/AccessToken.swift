import JSON
import Support

/// The claims of an access token (RFC 9068 section 2.2).
struct AccessToken: Sendable {
  /// `jti`; its part before the hyphen is the generation, by which all tokens are revoked at once.
  let id: String
  /// `iss`.
  let issuer: String
  /// `sub`: without a user the client itself.
  let subject: String
  /// `client_id`.
  let clientID: String
  /// `aud`.
  let audience: [String]
  /// `scope`, split.
  let scopes: [String]
  /// `iat`.
  let issuedAt: Timestamp
  /// `exp`.
  let expiresAt: Timestamp

  /// The claims as JSON.
  var claims: JSONObject {
    [
      "iss": .string(issuer),
      "sub": .string(subject),
      "aud": audience.count == 1 ? .string(audience[0]) : .array(audience.map { .string($0) }),
      "client_id": .string(clientID),
      "scope": .string(scopes.joined(separator: " ")),
      "iat": .integer(issuedAt.secondsSinceEpoch),
      "exp": .integer(expiresAt.secondsSinceEpoch),
      "jti": .string(id),
    ]
  }
}

extension AccessToken {
  /// The token of these claims; nil when one is missing or of the wrong kind.
  init?(claims: JSONObject) {
    guard let id = claims["jti"]?.stringValue, let issuer = claims["iss"]?.stringValue,
      let subject = claims["sub"]?.stringValue, let clientID = claims["client_id"]?.stringValue,
      let scope = claims["scope"]?.stringValue, let issuedAt = claims["iat"]?.integerValue,
      let expiresAt = claims["exp"]?.integerValue
    else { return nil }
    switch claims["aud"] {
    case .string(let one)?: audience = [one]
    case .array(let many)?: audience = many.compactMap(\.stringValue)
    default: return nil
    }
    self.id = id
    self.issuer = issuer
    self.subject = subject
    self.clientID = clientID
    scopes = scope.split(separator: " ").map(String.init)
    self.issuedAt = Timestamp(secondsSinceEpoch: issuedAt)
    self.expiresAt = Timestamp(secondsSinceEpoch: expiresAt)
  }
}
