import PosternJSON
import PosternSupport

/// Access tokens as signed JWTs (RFC 9068): made, checked and revoked here.
final class AccessTokens: Sendable {
  /// Why a token is not accepted.
  enum Rejection: String, Error, Sendable {
    case foreign = "the token is not one of this issuer's"
    case expired = "the token has expired"
    case revoked = "the token has been revoked"
  }

  /// The contents of a new token.
  struct Content: Sendable {
    /// `sub`.
    var subject: String
    /// `client_id`.
    var clientID: String
    /// `aud`.
    var audience: [String]
    /// `scope`.
    var scopes: [String]
    /// The family it is revoked with.
    var familyID: String?
    /// `cnf.jkt`.
    var confirmation: String?
    /// How the user logged in.
    var authentication: UserAuthentication?
    /// `act.sub`: who acts for the subject now.
    var actor: String?
    /// `act` of the token this one is made from (RFC 8693 section 4.1).
    var earlierActor: JSONValue?
  }

  private struct Revocations {
    var generation = 0
    var single: [String: Timestamp] = [:]
  }

  /// The most singly revoked tokens that are stored; expired ones are forgotten first.
  private static let revocationLimit = 100_000

  private let issuer: String
  private let keys: SigningKeys
  /// How long a token lives.
  let lifetime: Duration
  private let families: RefreshFamilies
  private let clock: any EngineClock
  private let revocations = Locked(Revocations())

  /// Tokens of `issuer` that live for `lifetime` at most, and no longer than their family.
  init(issuer: String, keys: SigningKeys, lifetime: Duration, families: RefreshFamilies, clock: any EngineClock) {
    self.issuer = issuer
    self.keys = keys
    self.lifetime = lifetime
    self.families = families
    self.clock = clock
  }

  /// A new token.
  func issue(_ content: Content) throws -> String {
    let generation = revocations.withLock { $0.generation }
    let now = clock.wallNow
    // NumericDate has whole seconds here: the start is rounded down and the end up, so that a token lives at least as
    // long as its `expires_in`.
    let end = now + lifetime + .milliseconds(999)
    let random = String(UInt64.random(in: .min ... .max), radix: 36)
    let token = AccessToken(
      id: "\(generation)-\(random)" + (content.familyID.map { "-" + $0 } ?? ""),
      issuer: issuer,
      subject: content.subject,
      clientID: content.clientID,
      audience: content.audience,
      scopes: content.scopes,
      issuedAt: Timestamp(secondsSinceEpoch: now.secondsSinceEpoch),
      expiresAt: Timestamp(secondsSinceEpoch: end.secondsSinceEpoch),
      confirmation: content.confirmation,
      authentication: content.authentication,
      actor: content.act
    )
    return try keys.sign(token.claims, type: "at+jwt")
  }

  /// The claims of a token of ours that is still good.
  func check(_ text: String) throws(Rejection) -> AccessToken {
    guard let claims = keys.verify(text, type: "at+jwt"), let token = AccessToken(claims: claims),
      token.issuer == issuer
    else { throw .foreign }
    guard clock.wallNow < token.expiresAt else { throw .expired }
    let revoked = revocations.withLock { $0.generation != token.generation || $0.single[token.id] != nil }
    if revoked || token.familyID.map({ !families.isAlive($0) }) ?? false { throw .revoked }
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

extension AccessTokens.Content {
  /// `act`: the one who acts now, around those who did before.
  fileprivate var act: JSONValue? {
    guard let actor else { return earlierActor }
    var act: JSONObject = ["sub": .string(actor)]
    act["act"] = earlierActor
    return .object(act)
  }
}
