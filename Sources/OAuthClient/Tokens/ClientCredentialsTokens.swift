import HTTPMessages
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
    var shared = SharedTokens()
    var lastGeneration: UInt64 = 0
  }

  /// The proofs for all resource servers and decision points, so that their nonces are learnt once.
  package let resourceProver: DPoPProver
  let services: Services
  let requests: TokenRequests
  private let state = Locked(State())
  private let flights: TokenFlights<ClientCredentialsGrant>
  /// The keys that tokens are bound to.
  let keys = IssuerKeys()

  /// Endpoints that the configuration does not give come from `discovery`.
  package init(_ services: Services, discovery: ProviderDiscovery) {
    self.services = services
    resourceProver = DPoPProver(clock: services.clock)
    requests = TokenRequests(provider: ProviderClient(services, discovery: discovery))
    flights = TokenFlights(clock: services.clock, servesEverybody: true)
  }

  /// Returns a fresh token, from the cache or from the issuer.
  public func token(
    for grant: ClientCredentialsGrant, in scope: CallScope = CallScope()
  ) async throws(TokenError) -> AccessToken {
    if let token = cachedToken(for: grant, in: scope) { return token }
    services.observer.observe(.tokenCacheMiss(issuer: grant.issuer.name), in: scope)
    return try await obtain(grant, newerThan: 0, in: scope)
  }

  /// Returns a fresh token from the cache; nil when one has to be requested.
  package func cachedToken(for grant: ClientCredentialsGrant, in scope: CallScope) -> AccessToken? {
    guard let token = freshToken(for: grant) else { return nil }
    services.observer.observe(.tokenCacheHit(issuer: grant.issuer.name), in: scope)
    return token
  }

  /// Returns a token newer than `rejected`, which a resource server rejected: the current one when it is newer already,
  /// else one from the issuer. How often a user may have a shared token replaced is limited.
  public func token(
    for grant: ClientCredentialsGrant, replacing rejected: AccessToken, in scope: CallScope = CallScope()
  ) async throws(TokenError) -> AccessToken {
    if let newer = try flights.newer(than: rejected, current: freshToken(for: grant), for: grant, in: scope) {
      return newer
    }
    return try await obtain(grant, newerThan: rejected.generation, in: scope)
  }

  /// Returns a token that remains valid for `life`, where the issuer gives such tokens. Where its lifetimes are
  /// shorter, another one is requested only when half of the current one's lifetime is over.
  public func token(
    for grant: ClientCredentialsGrant, livingFor life: Duration, in scope: CallScope = CallScope()
  ) async throws(TokenError) -> AccessToken {
    let token = try await token(for: grant, in: scope)
    let now = services.clock.monotonicNow
    let needed = token.lifetime.map { $0 < life ? $0 / 2 : life } ?? life
    guard needed > .zero, token.expiry < now + needed,
      flights.wait(toReplace: token, for: grant, in: scope) == nil
    else { return token }
    return try await obtain(grant, newerThan: token.generation, in: scope)
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

  /// The cached token, fresh or not; nil where there is none. Throws what `token` would without a request, after
  /// failures.
  package func current(for grant: ClientCredentialsGrant) throws(TokenError) -> AccessToken? {
    let now = services.clock.monotonicNow
    let (token, backoff) = state.withLock { ($0.tokens[grant]?.token, $0.backoffs[grant]) }
    if token?.isFresh(at: now) != true, let error = backoff?.error(at: now) { throw error }
    return token
  }

  private func freshToken(for grant: ClientCredentialsGrant) -> AccessToken? {
    let now = services.clock.monotonicNow
    return state.withLock { state in (state.tokens[grant]?.token).flatMap { $0.isFresh(at: now) ? $0 : nil } }
  }

  private func obtain(
    _ grant: ClientCredentialsGrant, newerThan generation: UInt64, in scope: CallScope
  ) async throws(TokenError) -> AccessToken {
    try await flights.token(
      for: grant, of: grant.issuer.name, newerThan: generation, in: scope,
      fresh: { self.freshToken(for: grant) },
      { (scope) async throws(TokenError) in try await self.request(grant, in: scope) })
  }

  /// Sends one request to the token endpoint and stores its outcome.
  private func request(_ grant: ClientCredentialsGrant, in scope: CallScope) async throws(TokenError) -> AccessToken {
    let previous = state.withLock { $0.backoffs[grant] }
    if let error = previous?.error(at: services.clock.monotonicNow) { throw error }
    do throws(TokenError) {
      let answer = try await requests.token(
        grant.form, at: grant.issuer, key: try keys.key(for: grant.issuer), in: scope)
      let token = store(answer, for: grant)
      services.observer.observe(.tokenObtained(issuer: grant.issuer.name), in: scope)
      return token
    } catch {
      let backoff = TokenBackoff(after: error, previous: previous, now: services.clock.monotonicNow)
      if let backoff { state.withLock { $0.backoffs[grant] = backoff } }
      services.observer.observe(.tokenFailed(issuer: grant.issuer.name, error: error), in: scope)
      throw backoff?.error(at: services.clock.monotonicNow) ?? error
    }
  }

  private func store(_ answer: TokenRequests.Answer, for grant: ClientCredentialsGrant) -> AccessToken {
    let digests = SharedTokens.digests(of: Secret(answer.response.accessToken), at: grant.issuer)
    let now = (services.clock.wallNow, services.clock.monotonicNow)
    return state.withLock { state in
      state.lastGeneration += 1
      let token = AccessToken(answer, generation: state.lastGeneration, scope: grant.scope, clock: now)
      state.tokens[grant] = Current(token: token, digests: digests)
      state.shared.note(digests, of: grant)
      state.backoffs[grant] = nil
      return token
    }
  }
}

extension ClientCredentialsTokens: ConciseStringConvertible {}
