import Support

/// Access tokens as signed JWTs (RFC 9068): made, checked and revoked here.
final class AccessTokens: Sendable {
  /// Why a token is not accepted.
  enum Rejection: String, Error, Sendable {
    case foreign = "the token is not one of this issuer's"
    case expired = "the token has expired"
    case revoked = "the token has been revoked"
  }

  private struct Revocations {
    var generation = 0
    var single: [String: Timestamp] = [:]
  }

  /// How many singly revoked tokens are remembered; expired ones are forgotten first.
  private static let revocationLimit = 100_000

  private let issuer: String
  private let keys: SigningKeys
  /// How long a token lives.
  let lifetime: Duration
  private let clock: any EngineClock
  private let revocations = Locked(Revocations())

  /// Tokens of `issuer` that live for `lifetime`, signed with `keys`.
  init(issuer: String, keys: SigningKeys, lifetime: Duration, clock: any EngineClock) {
    self.issuer = issuer
    self.keys = keys
    self.lifetime = lifetime
    self.clock = clock
  }

  /// A new token for `client`.
  func issue(client: String, audience: [String], scopes: [String]) throws -> String {
    let generation = revocations.withLock { $0.generation }
    let now = clock.wallNow
    // NumericDate has whole seconds here: the start is rounded down and the end up, so that a token lives at least as long as
    // its `expires_in` says.
    let end = now + lifetime + .milliseconds(999)
    let token = AccessToken(
      id: "\(generation)-\(String(UInt64.random(in: .min ... .max), radix: 36))",
      issuer: issuer,
      subject: client,
      clientID: client,
      audience: audience,
      scopes: scopes,
      issuedAt: Timestamp(secondsSinceEpoch: now.secondsSinceEpoch),
      expiresAt: Timestamp(secondsSinceEpoch: end.secondsSinceEpoch)
    )
    return try keys.sign(token.claims, type: "at+jwt")
  }

  /// The claims of a token of ours that is still good.
  func check(_ text: String) throws(Rejection) -> AccessToken {
    guard let claims = keys.verify(text, type: "at+jwt"), let token = AccessToken(claims: claims),
      token.issuer == issuer
    else { throw .foreign }
    guard clock.wallNow < token.expiresAt else { throw .expired }
    let generation = Int(token.id.prefix { $0 != "-" })
    let revoked = revocations.withLock { $0.generation != generation || $0.single[token.id] != nil }
    if revoked { throw .revoked }
    return token
  }

  /// Makes one token invalid.
  func revoke(_ token: AccessToken) {
    let now = clock.wallNow
    revocations.withLock { revocations in
      if revocations.single.count >= Self.revocationLimit {
        revocations.single = revocations.single.filter { $0.value > now }
      }
      if revocations.single.count < Self.revocationLimit { revocations.single[token.id] = token.expiresAt }
    }
  }

  /// Makes all tokens issued so far invalid.
  func revokeAll() {
    revocations.withLock { revocations in
      revocations.generation += 1
      revocations.single = [:]
    }
  }
}
