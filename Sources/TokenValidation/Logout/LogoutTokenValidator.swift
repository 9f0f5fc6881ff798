public import JOSE
public import KeySets
import PosternJSON
public import PosternSupport

/// Validates logout tokens (OpenID Connect Back-Channel Logout 1.0 section 2.6). Order of checks and verdicts as for ID
/// tokens; that the token is used for the first time is asked last, because asking it changes something.
public struct LogoutTokenValidator: Sendable {
  private let verification: TokenVerification
  private let replays: LogoutReplayCache
  private let clock: any EngineClock

  /// A validator that judges by `clock` and remembers what it accepted in `replays`.
  public init(
    clock: some EngineClock, replays: LogoutReplayCache = LogoutReplayCache(), limits: TokenLimits = TokenLimits()
  ) {
    verification = TokenVerification(limits: limits, cache: nil, clock: clock)
    self.replays = replays
    self.clock = clock
  }

  /// The verdict on `logoutToken`; `jti_replayed` the second time. Throws only when it cannot be decided: there is no
  /// key set to be had until `deadline`.
  public func validate(
    _ logoutToken: String, expecting expectations: LogoutTokenExpectations, configuration: IDTokenConfiguration,
    keys: any KeySource, deadline: Deadline = .never
  ) async throws(KeySetError) -> TokenVerdict {
    let policy = LogoutTokenPolicy(configuration: configuration, expectations: expectations)
    let verdict = try await verification.verdict(
      on: logoutToken, by: policy.profile, keys: keys, deadline: deadline)
    // Judged already, so that both are there.
    guard let members = verdict.claims, let claims = try? JWTClaims(members), let identifier = claims.string("jti"),
      let expiry = claims.expiresAt
    else { return verdict }
    let entry = LogoutReplayCache.Entry(
      realm: expectations.realm, issuer: configuration.issuer, clientID: expectations.clientID, identifier: identifier)
    // Remembered for as long as any skew that could be granted lets it be used.
    let isNew = replays.admit(
      entry, until: expiry + IDTokenConfiguration.maximumClockSkew, now: expectations.now ?? clock.wallNow)
    return isNew ? verdict : .invalid(TokenFault(.jtiReplayed, "the token was used before", claim: "jti"))
  }
}
