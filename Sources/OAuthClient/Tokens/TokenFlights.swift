import PosternSupport

/// Obtains tokens in single-flight, and limits how often valid ones are replaced: what tokens of the client and tokens
/// on behalf of users have in common.
///
/// It stores no token: `fresh` and `request` are those of the cache that it serves. A request that has started runs to
/// its end, even if all waiters leave.
struct TokenFlights<Key: Hashable & Sendable>: Sendable {
  private let flights: SingleFlight<Key, AccessToken, TokenError>
  private let replacements = TokenReplacementLimit<Key>()
  private let clock: any EngineClock

  /// Nothing in flight; with `servesEverybody` callers of several uids wait for the same request.
  init(clock: any EngineClock, servesEverybody: Bool) {
    self.clock = clock
    flights = SingleFlight(clock: clock, servesEverybody: servesEverybody) { end in
      switch end {
      case .cancelled: TokenError(.cancelled, "the wait for a token was cancelled")
      case .deadlineExceeded: TokenError(.deadlineExceeded, "the deadline passed while waiting for a token")
      }
    }
  }

  /// Returns a token newer than `generation`: a `fresh` one, else that of `request`.
  func token(
    for key: Key, of issuer: String, newerThan generation: UInt64, in scope: CallScope,
    fresh: @escaping @Sendable () -> AccessToken?,
    _ request: @escaping @Sendable (CallScope) async throws(TokenError) -> AccessToken
  ) async throws(TokenError) -> AccessToken {
    try await scope.waitingForToken(of: issuer) { scope async throws(TokenError) -> AccessToken in
      while true {
        let token = try await flights.value(for: key, in: scope) { scope async throws(TokenError) in
          if let token = fresh(), token.generation > generation { return token }
          return try await request(scope)
        }
        // A request that another caller started may end with the very token that was rejected.
        if token.generation > generation { return token }
      }
    }
  }

  /// Returns `current` where it is newer than `rejected`, and nil where a newer one may be requested; throws where the
  /// calling user has had too many replaced.
  func newer(
    than rejected: AccessToken, current: AccessToken?, for key: Key, in scope: CallScope
  ) throws(TokenError) -> AccessToken? {
    guard let current else { return nil }
    guard current.generation <= rejected.generation else { return current }
    if let wait = wait(toReplace: current, for: key, in: scope) {
      throw TokenError(.unavailable(nil), "the token has been replaced too often in a short time", retryAfter: wait)
    }
    return nil
  }

  /// Returns how long the calling user has to wait until `token` may be replaced; nil when it may be now, which counts.
  func wait(toReplace token: AccessToken, for key: Key, in scope: CallScope) -> Duration? {
    replacements.wait(toReplace: token.generation, of: key, for: scope.uid, at: clock.monotonicNow)
  }
}

/// The keys that tokens of the client, and tokens on behalf of users, are bound to: one for each issuer; each token has
/// its key with it.
struct IssuerKeys: Sendable {
  private let keys = Locked(BoundedCache<Issuer, DPoPKey>(capacity: 256))

  /// Returns the issuer's key; nil where its tokens are not bound.
  func key(for issuer: Issuer) throws(TokenError) -> DPoPKey? {
    guard issuer.usesDPoP else { return nil }
    if let key = keys.withLock({ $0[issuer] }) { return key }
    let made = try DPoPKey.generate()
    return keys.withLock { keys in
      if let key = keys[issuer] { return key }
      keys[issuer] = made
      return made
    }
  }
}

extension AccessToken {
  /// The token of `answer`, used until its margin before it expires, and not after `end`. `clock` is its `wallNow` and
  /// `monotonicNow`; `scope` is the requested one.
  init(
    _ answer: TokenRequests.Answer, generation: UInt64, scope: String?, clock now: (Timestamp, MonotonicInstant),
    until end: MonotonicInstant? = nil
  ) {
    let lifetime = answer.response.lifetime
    let usable = answer.sent + (lifetime - Self.margin(ofLifetime: lifetime))
    let expiry = end.map { min($0, answer.sent + lifetime) } ?? answer.sent + lifetime
    self.init(
      value: Secret(answer.response.accessToken), generation: generation, expiry: expiry, lifetime: lifetime,
      expiresAt: now.0 + (expiry - now.1), usableUntil: min(expiry, usable), scope: answer.response.scope ?? scope,
      binding: answer.binding)
  }
}
