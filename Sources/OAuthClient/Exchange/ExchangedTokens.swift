import JOSE
import PosternCrypto
public import PosternSupport

/// Tokens on behalf of users: an inbound token is exchanged for one of a resource (RFC 8693, RFC 7523).
///
/// The cache is in memory, for each uid by itself. Its key contains a keyed hash of the whole inbound token, so that
/// neither two users nor two tokens of one user share anything. The inbound token itself is not stored. Any number of
/// callers with one inbound token cause one request; a refresh token in an answer is dropped.
public final class ExchangedTokens: Sendable {
  /// The key of an entry.
  private struct Key: Hashable, Sendable {
    let uid: UInt32
    /// The keyed hash of the inbound token.
    let inbound: [UInt8]
    let grant: ExchangeGrant

    /// Leaves the grant out, which has many parts: few grants share an inbound token.
    func hash(into hasher: inout Hasher) {
      hasher.combine(uid)
      inbound.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
  }

  /// The outcome of an exchange.
  private enum Outcome: Sendable {
    case token(AccessToken)
    /// No token, which is not requested once more until then.
    case failed(TokenError, until: MonotonicInstant)

    /// When it is over.
    var end: MonotonicInstant {
      switch self {
      case .token(let token): token.usableUntil
      case .failed(_, let until): until
      }
    }
  }

  private struct Entry: Sendable {
    let outcome: Outcome
    let subject: String?
    let sessionID: String?
    /// The identifiers of the issuers of both tokens.
    let issuers: [String]
  }

  private struct State: Sendable {
    var entries = FairCache<UInt32, Key, Entry>(
      capacity: ExchangedTokens.capacity, maxWeight: ExchangedTokens.maxWeight)
    var lastGeneration: UInt64 = 0
    /// The number of times that entries were dropped: what was requested before is not stored after.
    var drops: UInt64 = 0
    var nextSweep = MonotonicInstant(nanoseconds: 0)
  }

  private static let capacity = 100_000
  /// The bytes of the tokens, all uids' together.
  private static let maxWeight = 64 << 20
  /// The longest time that a token is used, whatever its issuer states.
  private static let longestLife: Duration = .seconds(3600)
  /// The longest time that a failure is an answer to other calls.
  private static let failureLife: Duration = .seconds(5)
  private static let sweepInterval: Duration = .seconds(60)

  private let services: Services
  private let requests: TokenRequests
  private let clientTokens: ClientCredentialsTokens
  /// The key for hashes of inbound tokens, of this process only; prepared, since each call has one.
  private let hashKey = try? HMACKey(.sha256, key: .random(byteCount: 32))
  private let state = Locked(State())
  private let flights: TokenFlights<Key>

  /// Tokens over what `clientTokens` requests its tokens with, bound to the same keys.
  public init(sharing clientTokens: ClientCredentialsTokens) {
    self.clientTokens = clientTokens
    services = clientTokens.services
    requests = clientTokens.requests
    flights = TokenFlights(clock: services.clock, servesEverybody: false)
  }

  /// The number of entries.
  package var count: Int { state.withLock { $0.entries.count } }

  /// Returns a token by `grant` for the user of `inbound`, for calls of the scope's uid: from the cache, or from the
  /// issuer. With `rejected`, a newer one than that, which a resource server rejected; how often a user may do that is
  /// limited.
  public func token(
    for inbound: InboundToken, by grant: ExchangeGrant, replacing rejected: AccessToken? = nil,
    in scope: CallScope = CallScope()
  ) async throws(TokenError) -> AccessToken {
    let key = Key(uid: scope.uid, inbound: inbound.digest(under: hashKey), grant: grant)
    let current = freshToken(for: key)
    if let rejected {
      if let newer = try flights.newer(than: rejected, current: current, for: key, in: scope) { return newer }
    } else if let current {
      services.observer.observe(.tokenCacheHit(issuer: grant.issuer.name), in: scope)
      return current
    } else {
      services.observer.observe(.tokenCacheMiss(issuer: grant.issuer.name), in: scope)
    }
    return try await flights.token(
      for: key, of: grant.issuer.name, newerThan: rejected?.generation ?? 0, in: scope,
      fresh: { self.freshToken(for: key) },
      { (scope) async throws(TokenError) in try await self.exchange(inbound, for: key, in: scope) })
  }

  /// Drops the tokens on behalf of that user of `issuer`, all uids': the user has logged out. Returns how many there
  /// were.
  @discardableResult
  public func forget(subject: String, at issuer: Issuer) -> Int {
    drop { $0.subject?.isIdentical(to: subject) == true && $0.issuers.containsIdentical(issuer.identifier) }
  }

  /// Drops the tokens whose inbound token is of that session (`sid`) at `issuer`, all uids'. Returns how many there
  /// were.
  @discardableResult
  public func forget(sessionID: String, at issuer: Issuer) -> Int {
    drop { $0.sessionID?.isIdentical(to: sessionID) == true && $0.issuers.containsIdentical(issuer.identifier) }
  }

  private func drop(_ isUnwanted: (Entry) -> Bool) -> Int {
    state.withLock { state in
      let before = state.entries.count
      state.drops += 1
      state.entries.removeAll { _, entry in isUnwanted(entry) }
      return before - state.entries.count
    }
  }

  private func freshToken(for key: Key) -> AccessToken? {
    let now = services.clock.monotonicNow
    return state.withLock { state in
      guard case .token(let token) = state.entries[key]?.outcome, token.isFresh(at: now) else { return nil }
      return token
    }
  }

  /// Sends one request to the token endpoint and stores its outcome.
  private func exchange(
    _ inbound: InboundToken, for key: Key, in scope: CallScope
  ) async throws(TokenError) -> AccessToken {
    let now = services.clock.monotonicNow
    let (failure, drops) = state.withLock { ($0.entries.peek(key)?.outcome, $0.drops) }
    if case .failed(let error, let until) = failure, until > now { throw error.waiting(until - now) }
    let issuer = key.grant.issuer
    do throws(TokenError) {
      let actor = try await actor(for: key.grant, in: scope)
      let answer = try await requests.token(
        key.grant.exchange.form(for: inbound.value, actor: actor), at: issuer,
        key: try clientTokens.keys.key(for: issuer), in: scope)
      let end = try ExchangeAnswer(answer.response, key.grant.exchange).end(of: inbound, at: services.clock)
      let token = store(answer, until: end, of: inbound, for: key, drops)
      services.observer.observe(.tokenObtained(issuer: issuer.name), in: scope)
      return token
    } catch {
      store(error, of: inbound, for: key, drops)
      services.observer.observe(
        error.isAboutUser
          ? .exchangeRejected(issuer: issuer.name, error: error) : .tokenFailed(issuer: issuer.name, error: error),
        in: scope)
      throw error
    }
  }

  private func actor(for grant: ExchangeGrant, in scope: CallScope) async throws(TokenError) -> Secret<String>? {
    guard grant.exchange.actor == .clientCredentials else { return nil }
    return try await clientTokens.token(for: ClientCredentialsGrant(issuer: grant.issuer), in: scope).value
  }

  private func store(
    _ answer: TokenRequests.Answer, until end: MonotonicInstant?, of inbound: InboundToken, for key: Key,
    _ drops: UInt64
  ) -> AccessToken {
    let cap = answer.sent + Self.longestLife
    let weight = answer.response.accessToken.utf8.count
    let now = (services.clock.wallNow, services.clock.monotonicNow)
    return state.withLock { state in
      state.lastGeneration += 1
      let token = AccessToken(
        answer, generation: state.lastGeneration, scope: key.grant.exchange.scope, clock: now,
        until: end.map { min($0, cap) } ?? cap)
      Self.keep(.token(token), of: inbound, for: key, drops, weight: weight, now.1, in: &state)
      return token
    }
  }

  /// Stores a failure, for a short time: not what a user may have done in the next moment, and not what no server
  /// answered.
  private func store(_ error: TokenError, of inbound: InboundToken, for key: Key, _ drops: UInt64) {
    guard error.oauthError?.interaction == nil else { return }
    var life = Self.failureLife
    switch error.kind {
    case .rejected, .malformed: break
    case .unavailable:
      guard let retryAfter = error.retryAfter, retryAfter > .zero else { return }
      life = min(life, retryAfter)
    case .unreachable, .discovery, .notPossible, .assertion, .cancelled, .deadlineExceeded: return
    }
    let now = services.clock.monotonicNow
    state.withLock { state in
      Self.keep(.failed(error, until: now + life), of: inbound, for: key, drops, weight: 0, now, in: &state)
    }
  }

  private static func keep(
    _ outcome: Outcome, of inbound: InboundToken, for key: Key, _ drops: UInt64, weight: Int, _ now: MonotonicInstant,
    in state: inout State
  ) {
    // Tokens were dropped meanwhile, and this may be one of them.
    guard state.drops == drops else { return }
    // Expired tokens are secrets, too: they do not wait for their eviction.
    if now >= state.nextSweep {
      state.nextSweep = now + sweepInterval
      state.entries.removeAll { _, entry in entry.outcome.end <= now }
    }
    let issuers = [key.grant.issuer.identifier] + [inbound.issuer].compactMap { $0 }
    state.entries.set(
      Entry(outcome: outcome, subject: inbound.subject, sessionID: inbound.sessionID, issuers: issuers), for: key,
      of: key.uid, weight: weight)
  }
}

/// The checks of an answer to an exchange, before its token is used.
struct ExchangeAnswer {
  private let response: TokenResponse
  private let exchange: TokenExchange
  /// The claims of the new token; nil where it is no JWT. They are not verified: the answer came from the issuer.
  private let claims: JWTClaims?

  /// Throws where the answer is not of the requested type (RFC 8693 section 2.2.1).
  init(_ response: TokenResponse, _ exchange: TokenExchange) throws(TokenError) {
    self.response = response
    self.exchange = exchange
    claims = (try? CompactJWS(response.accessToken).unverifiedClaims()).flatMap { try? JWTClaims($0) }
    guard exchange.answersWithType else { return }
    guard let type = response.issuedType else { throw Self.malformed("has no issued_token_type") }
    guard exchange.accepts(issuedType: type) else {
      throw Self.malformed("has an issued_token_type other than the requested one")
    }
  }

  /// Returns until when the token may be used: as long as the inbound token, and its own `exp`; nil where neither is
  /// known. Throws where the token is another user's.
  func end(of inbound: InboundToken, at clock: any EngineClock) throws(TokenError) -> MonotonicInstant? {
    // It would be sent to the resource.
    guard response.accessToken != inbound.value.reveal() else { throw Self.malformed("is the inbound token") }
    guard !isOfAnotherUser(than: inbound) else { throw Self.malformed("is a token of another user") }
    let now = (clock.wallNow, clock.monotonicNow)
    func end(at expiry: Timestamp?) -> MonotonicInstant? { expiry.map { max(now.1, now.1 + ($0 - now.0)) } }
    let inboundEnd = end(at: inbound.expiresAt)
    guard inboundEnd != now.1 else { throw .inboundExpired }
    return [inboundEnd, end(at: claims?.expiresAt)].compactMap { $0 }.min()
  }

  /// Whether both tokens are JWTs of one issuer, and name different users.
  private func isOfAnotherUser(than inbound: InboundToken) -> Bool {
    guard exchange.subject == .same, let claims, let issuer = inbound.issuer,
      claims.string("iss")?.isIdentical(to: issuer) == true
    else { return false }
    // The `sub` of Entra differs by audience.
    let (name, expected) =
      exchange.dialect == .entra ? ("oid", inbound.objectID) : ("sub", inbound.subject)
    guard let expected, let actual = claims.string(name) else { return false }
    return !actual.isIdentical(to: expected)
  }

  private static func malformed(_ detail: String) -> TokenError {
    TokenError(.malformed, "the token endpoint's answer \(detail)", status: 200)
  }
}

extension TokenError {
  /// The inbound token has expired meanwhile.
  fileprivate static let inboundExpired = TokenError(
    .rejected(nil), "the inbound token expired while it was exchanged", status: 200)

  /// Whether this inbound token or its user is the reason, which is no fault of the issuer, nor of the client.
  var isAboutUser: Bool {
    guard case .rejected(let error) = kind else { return false }
    // With a status of success it is the inbound token's own end.
    guard let error else { return status == 200 }
    return error.interaction != nil || ["access_denied", "invalid_grant", "invalid_request"].contains(error.code)
  }
}

extension ExchangedTokens: ConciseStringConvertible {}
