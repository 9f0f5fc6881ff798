public import HTTPMessages
public import PosternSupport

/// Client credentials tokens (RFC 6749 section 4.4), cached and refreshed: the sidecar's own tokens, which all users
/// share.
///
/// Requests are in single-flight; a request that has started runs to its end and its token is cached, even if all
/// waiters leave. The cache is behind a lock, which is released before every call to another object.
public final class ClientCredentialsTokens: Sendable {
  private struct Current: Sendable {
    let token: AccessToken
    let digests: [SharedTokens.Digest]
  }

  private struct State: Sendable {
    var tokens = BoundedCache<ClientCredentialsGrant, Current>(capacity: 1024)
    var backoffs = BoundedCache<ClientCredentialsGrant, TokenBackoff>(capacity: 1024)
    /// The keys that tokens are bound to, one for each issuer; each token has its key with it.
    var keys = BoundedCache<Issuer, DPoPKey>(capacity: 256)
    var shared = SharedTokens()
    var lastGeneration: UInt64 = 0
  }

  /// The proofs for all resource servers and decision points, so that their nonces are learnt once.
  package let resourceProver: DPoPProver
  private let upstream: Upstream
  private let requests: TokenRequests
  private let state = Locked(State())
  private let replacements = TokenReplacementLimit<ClientCredentialsGrant>()
  private let flights: SingleFlight<ClientCredentialsGrant, AccessToken, TokenError>

  /// Tokens over `transport`; endpoints that the configuration does not give come from `discovery`.
  public init(
    transport: any HTTPTransport, clock: any EngineClock, observer: any EngineObserver, userAgent: String,
    discovery: ProviderDiscovery
  ) {
    upstream = Upstream(transport: transport, clock: clock, observer: observer, userAgent: userAgent)
    resourceProver = DPoPProver(clock: clock)
    requests = TokenRequests(provider: ProviderClient(upstream: upstream, discovery: discovery))
    flights = SingleFlight(clock: clock, servesEverybody: true) { end in
      switch end {
      case .cancelled: TokenError(.cancelled, "the wait for a token was cancelled")
      case .deadlineExceeded: TokenError(.deadlineExceeded, "the deadline passed while waiting for a token")
      }
    }
  }

  /// Returns a fresh token, from the cache or from the issuer.
  public func token(
    for grant: ClientCredentialsGrant, deadline: Deadline = .never, trace: TraceContext? = nil
  ) async throws(TokenError) -> AccessToken {
    if let token = freshToken(for: grant) {
      upstream.observer.observe(.tokenCacheHit(issuer: grant.issuer.name))
      return token
    }
    upstream.observer.observe(.tokenCacheMiss(issuer: grant.issuer.name))
    return try await obtain(grant, newerThan: 0, deadline: deadline, trace: trace)
  }

  /// Returns a token newer than `rejected`, which a resource server rejected: the current one when it is newer already,
  /// else one from the issuer. How often a user may have a shared token replaced is limited.
  public func token(
    for grant: ClientCredentialsGrant, replacing rejected: AccessToken, deadline: Deadline = .never,
    trace: TraceContext? = nil
  ) async throws(TokenError) -> AccessToken {
    if let current = freshToken(for: grant) {
      guard current.generation <= rejected.generation else { return current }
      if let wait = replacements.wait(toReplace: current.generation, of: grant, at: upstream.clock.monotonicNow) {
        throw TokenError(.unavailable(nil), "the token has been replaced too often in a short time", retryAfter: wait)
      }
    }
    return try await obtain(grant, newerThan: rejected.generation, deadline: deadline, trace: trace)
  }

  /// Returns a token that remains valid for `life`, where the issuer gives such tokens. Where its lifetimes are
  /// shorter, another one is requested only when half of the current one's lifetime is over.
  public func token(
    for grant: ClientCredentialsGrant, livingFor life: Duration, deadline: Deadline = .never, trace: TraceContext? = nil
  ) async throws(TokenError) -> AccessToken {
    let token = try await token(for: grant, deadline: deadline, trace: trace)
    let now = upstream.clock.monotonicNow
    let needed = token.lifetime.map { $0 < life ? $0 / 2 : life } ?? life
    guard needed > .zero, token.expiry < now + needed,
      replacements.wait(toReplace: token.generation, of: grant, at: now) == nil
    else { return token }
    return try await obtain(grant, newerThan: token.generation, deadline: deadline, trace: trace)
  }

  /// Whether `token` was obtained here from `issuer`, and so is shared by all users. Current tokens are always
  /// recognised, older ones while their digests are kept.
  package func isShared(_ token: Secret<String>, at issuer: Issuer) -> Bool {
    let digests = Set(SharedTokens.digests(of: token, at: issuer))
    return state.withLock { state in
      state.shared.contains(any: digests)
        || state.tokens.contains { _, current in current.digests.contains(where: digests.contains) }
    }
  }

  private func freshToken(for grant: ClientCredentialsGrant, newerThan generation: UInt64 = 0) -> AccessToken? {
    let now = upstream.clock.monotonicNow
    return state.withLock { state in
      (state.tokens[grant]?.token).flatMap { $0.isFresh(at: now) && $0.generation > generation ? $0 : nil }
    }
  }

  private func obtain(
    _ grant: ClientCredentialsGrant, newerThan generation: UInt64, deadline: Deadline, trace: TraceContext?
  ) async throws(TokenError) -> AccessToken {
    try await trace.waitingForToken(of: grant.issuer.name) { trace async throws(TokenError) -> AccessToken in
      try await flown(grant, newerThan: generation, deadline: deadline, trace: trace)
    }
  }

  private func flown(
    _ grant: ClientCredentialsGrant, newerThan generation: UInt64, deadline: Deadline, trace: TraceContext?
  ) async throws(TokenError) -> AccessToken {
    while true {
      let token = try await flights.value(for: grant, deadline: deadline) { [self] () async throws(TokenError) in
        if let token = freshToken(for: grant, newerThan: generation) { return token }
        return try await request(grant, trace: trace)
      }
      // A request that another caller started may end with the very token that was rejected.
      if token.generation > generation { return token }
    }
  }

  /// Sends one request to the token endpoint and stores its outcome.
  private func request(_ grant: ClientCredentialsGrant, trace: TraceContext?) async throws(TokenError) -> AccessToken {
    let previous = state.withLock { $0.backoffs[grant] }
    if let error = previous?.error(at: upstream.clock.monotonicNow) { throw error }
    do throws(TokenError) {
      let answer = try await requests.token(
        grant.form, at: grant.issuer, key: try key(for: grant.issuer), trace: trace)
      let token = store(answer, for: grant)
      upstream.observer.observe(.tokenObtained(issuer: grant.issuer.name))
      return token
    } catch {
      let backoff = TokenBackoff(after: error, previous: previous, now: upstream.clock.monotonicNow)
      if let backoff { state.withLock { $0.backoffs[grant] = backoff } }
      upstream.observer.observe(.tokenFailed(issuer: grant.issuer.name, error: error))
      throw backoff?.error(at: upstream.clock.monotonicNow) ?? error
    }
  }

  /// Returns the key that the issuer's tokens are bound to; nil where they are not.
  private func key(for issuer: Issuer) throws(TokenError) -> DPoPKey? {
    guard issuer.usesDPoP else { return nil }
    if let key = state.withLock({ $0.keys[issuer] }) { return key }
    let made = try DPoPKey.generate()
    return state.withLock { state in
      if let key = state.keys[issuer] { return key }
      state.keys[issuer] = made
      return made
    }
  }

  private func store(_ answer: TokenRequests.Answer, for grant: ClientCredentialsGrant) -> AccessToken {
    let clock = upstream.clock
    let response = answer.response
    let expiry = answer.sent + response.lifetime
    let expiresAt = clock.wallNow + (expiry - clock.monotonicNow)
    let usableUntil = answer.sent + (response.lifetime - AccessToken.margin(ofLifetime: response.lifetime))
    let value = Secret(response.accessToken)
    let digests = SharedTokens.digests(of: value, at: grant.issuer)
    return state.withLock { state in
      state.lastGeneration += 1
      let token = AccessToken(
        value: value, generation: state.lastGeneration, expiry: expiry,
        lifetime: response.lifetime, expiresAt: expiresAt,
        usableUntil: usableUntil, scope: response.scope ?? grant.scope, binding: answer.binding)
      state.tokens[grant] = Current(token: token, digests: digests)
      state.shared.note(digests, of: grant)
      state.backoffs[grant] = nil
      return token
    }
  }
}

extension ClientCredentialsTokens: ConciseStringConvertible {}
