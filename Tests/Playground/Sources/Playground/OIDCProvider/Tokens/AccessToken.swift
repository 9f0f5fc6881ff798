import PosternJSON
import PosternSupport

/// The claims of an access token (RFC 9068 section 2.2).
struct AccessToken: Sendable {
  /// `jti`: the generation, by which all tokens are revoked at once, a random part, and the family where there is one.
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
  /// `cnf.jkt`: the thumbprint of the key the token is bound to (RFC 9449 section 6.1).
  var confirmation: String?
  /// How the user logged in (RFC 9068 section 2.2.1).
  var authentication: UserAuthentication?
  /// `act`: who acts for the subject (RFC 8693 section 4.1).
  var actor: JSONValue?

  /// The generation within `jti`.
  var generation: Int? { parts.first.flatMap { Int($0) } }

  /// The family within `jti`: what is revoked with the refresh tokens of the same grant.
  var familyID: String? { parts.count == 3 ? String(parts[2]) : nil }

  private var parts: [Substring] { id.split(separator: "-", omittingEmptySubsequences: false) }

  /// The claims as JSON.
  var claims: JSONObject {
    var claims: JSONObject = [
      "iss": .string(issuer),
      "sub": .string(subject),
      "aud": audience.count == 1 ? .string(audience[0]) : .array(audience.map { .string($0) }),
      "client_id": .string(clientID),
      "scope": .string(scopes.joined(separator: " ")),
      "iat": .integer(issuedAt.secondsSinceEpoch),
      "exp": .integer(expiresAt.secondsSinceEpoch),
      "jti": .string(id),
    ]
    claims["cnf"] = confirmation.map { ["jkt": .string($0)] }
    for member in authentication?.claims.members ?? [] { claims[member.name] = member.value }
    claims["act"] = actor
    return claims
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
    confirmation = claims["cnf"]?["jkt"]?.stringValue
    authentication = UserAuthentication(claims: claims)
    actor = claims["act"]
  }
}
