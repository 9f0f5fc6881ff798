public import JOSE
public import OAuthClient
import PosternCrypto
package import PosternJSON
public import PosternSupport

/// Validates logout tokens (OpenID Connect Back-Channel Logout 1.0 section 2.6). The order of checks and the verdicts
/// are those of ID tokens; the check for a replay is the last one, because it has an effect.
public struct LogoutTokenValidator: Sendable {
  private let verification: TokenVerification
  private let replays: LogoutReplayCache
  private let clock: any EngineClock

  /// A validator with the time of `clock`, which records accepted tokens in `replays`.
  public init(
    clock: some EngineClock, replays: LogoutReplayCache = LogoutReplayCache(), limits: TokenLimits = TokenLimits()
  ) {
    verification = TokenVerification(limits: limits, cache: nil, clock: clock)
    self.replays = replays
    self.clock = clock
  }

  /// Returns the verdict on `logoutToken`; `jti_replayed` the second time. Throws only when no verdict is possible: no
  /// key set is available until the scope's deadline.
  public func validate(
    _ logoutToken: String, expecting expectations: LogoutTokenExpectations, configuration: IDTokenConfiguration,
    keys: any KeySource, in scope: CallScope = CallScope()
  ) async throws(KeySetError) -> TokenVerdict {
    let policy = LogoutTokenPolicy(configuration: configuration, expectations: expectations)
    let verdict = try await verification.verdict(
      on: logoutToken, by: policy.profile, keys: keys, in: scope)
    // The token is valid, so that these are present.
    guard let members = verdict.claims, let claims = try? JWTClaims(members),
      let expiry = claims.expiresAt ?? claims.issuedAt.map({ $0 + LogoutAgeRule.life }),
      let entry = Self.entry(of: members, expectations, configuration)
    else { return verdict }
    // Recorded for as long as the largest clock skew lets the token be used, its last moment included.
    let end = expiry + IDTokenConfiguration.maximumClockSkew + .seconds(1)
    let isNew = replays.admit(entry, until: end, now: expectations.now ?? clock.wallNow)
    return isNew ? verdict : .invalid(TokenFault(.jtiReplayed, "the token was used before", claim: "jti"))
  }

  /// Makes a valid logout token, by its claims, valid once more: what it requires could not be done.
  package func permitRetry(
    of claims: JSONObject, expecting expectations: LogoutTokenExpectations, configuration: IDTokenConfiguration
  ) {
    if let entry = Self.entry(of: claims, expectations, configuration) { replays.remove(entry) }
  }

  private static func entry(
    of claims: JSONObject, _ expectations: LogoutTokenExpectations, _ configuration: IDTokenConfiguration
  ) -> LogoutReplayCache.Entry? {
    claims["jti"]?.stringValue.map {
      LogoutReplayCache.Entry(
        realm: expectations.realm, issuer: configuration.issuer, clientID: expectations.clientID, identifier: $0)
    }
  }
}

/// The requirements of one call for a logout token.
public struct LogoutTokenExpectations: Sendable {
  /// The client that the token must be for.
  public var clientID: String
  /// The realm of used tokens: tokens that are verified with other keys must not share one (RFC 8725 section 3.8).
  public var realm: String
  /// Replaces the configured clock skew; at most 300 s.
  public var clockSkew: Duration?
  /// The time of the validation; nil for now.
  public var now: Timestamp?

  /// Expectations of the given client; the others keep their defaults until they are set.
  public init(clientID: String, realm: String = "") {
    self.clientID = clientID
    self.realm = realm
  }
}

/// The rules for a logout token by a configuration and one call's expectations.
struct LogoutTokenPolicy: Sendable {
  let configuration: IDTokenConfiguration
  let expectations: LogoutTokenExpectations

  var clockSkew: Duration {
    IDTokenConfiguration.bounded(expectations.clockSkew ?? configuration.clockSkew)
  }

  /// The profile of Back-Channel Logout 1.0 section 2.6. No verdict is cached: a logout token is valid for one use.
  var profile: TokenProfile {
    TokenProfile(
      algorithms: configuration.algorithms(narrowedTo: nil),
      clientSecret: configuration.clientSecret,
      encryption: configuration.encryption.optional,
      outerTypes: ["JWT", "logout+jwt"],
      headerRules: [
        SymmetricAudienceRule(),
        TokenTypeRule(accepted: ["logout+jwt", "JWT"], mayBeAbsent: true),
        ContentTypeRule(),
      ],
      claimRules: [
        IssuerRule(issuer: configuration.issuer, others: configuration.otherIssuers),
        AudienceRule(audience: expectations.clientID),
        TrustedAudienceRule(clientID: expectations.clientID, trusted: configuration.trustedAudiences),
        ExpirationRule(mayBeAbsent: !configuration.requiresLogoutExpiry),
        NotBeforeRule(),
        IssuedAtRule(maximumAge: configuration.maximumTokenAge),
        LogoutAgeRule(),
        TokenIdentifierRule(maximumByteCount: 512),
        LogoutEventRule(),
        LogoutTargetRule(),
        NoNonceRule(),
      ],
      clockSkew: clockSkew,
      now: expectations.now,
      fingerprint: nil)
  }
}

/// The accepted logout tokens, by realm, issuer, client and `jti`, each until it expires (Back-Channel Logout 1.0
/// section 2.6).
///
/// Bounded, in bytes too, since each is a digest. When it is full, the realm with the most entries loses its oldest, so
/// that no caller's own keys make another's token usable again. Its state is behind a lock.
public final class LogoutReplayCache: Sendable {
  /// The identity of a token.
  struct Entry: Hashable {
    /// A short text that the sidecar makes.
    fileprivate let realm: String
    /// A digest of texts from callers, which may be as long as a message.
    let digest: [UInt8]

    init(realm: String, issuer: String, clientID: String, identifier: String) {
      self.realm = realm
      digest = HashFunction.sha256.hash("logout", of: [realm, issuer, clientID, identifier])
    }
  }

  private let seen: Locked<FairCache<String, Entry, Timestamp>>

  /// A cache of at most `maxEntries` tokens.
  public init(maxEntries: Int = 100_000) { seen = Locked(FairCache(capacity: maxEntries)) }

  /// The number of recorded tokens.
  public var count: Int { seen.withLock { $0.count } }

  /// Removes a token.
  func remove(_ entry: Entry) { seen.withLock { $0.remove(entry) } }

  /// Records a token until `expiry`; false when it is recorded already.
  func admit(_ entry: Entry, until expiry: Timestamp, now: Timestamp) -> Bool {
    seen.withLock { seen in
      if let until = seen[entry], until > now { return false }
      seen.set(expiry, for: entry, of: entry.realm)
      return true
    }
  }
}

extension LogoutTokenValidator: ConciseStringConvertible {}

extension LogoutTokenExpectations: ConciseStringConvertible {
  /// The client.
  public var description: String {
    Concise.text("client \(Concise.name(clientID))", realm.isEmpty ? nil : "realm \(Concise.name(realm))")
  }
}

extension LogoutReplayCache: ConciseStringConvertible {
  /// The number of tokens.
  public var description: String { Concise.count(count, "logout token") }
}
