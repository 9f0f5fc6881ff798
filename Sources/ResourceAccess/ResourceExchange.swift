import HTTPMessages
import OAuthClient
import PosternSupport
import Sessions

/// Sends the requests of one fetch to its resource server, within the limits of their origins: with the token and its
/// proof, with cookies, and with encrypted bodies.
final class ResourceExchange {
  /// One request of the fetch.
  struct Attempt {
    var request: HTTPRequest
    var token: AccessToken?
    var timer: FetchTimer
    /// Whether a server may have acted on an earlier request of the fetch, one that it redirected.
    var followsRedirect = false
    /// Whether gateways are to put their advice where it can be read without following redirects.
    var wantsAdvice = false
    /// Whether the request carries the resource's own credential: not once a redirect has crossed origins.
    var hasCredential = false
  }

  let server: ResourceServer
  let policy: TokenManagementPolicy
  private let services: Services
  private let limiter: OriginLimiter
  private let prover: DPoPProver
  private let method: HTTPMethod
  private let options: TransferOptions
  private let scope: CallScope
  private let longWork: LongWork?
  private let supply: BodySupply?
  /// Hides the credential of the requests in what comes back.
  let echo: CredentialEcho
  /// The targets of the last response where that is a redirect, as the server sent them.
  private(set) var locations: [String] = []
  /// How many requests of the fetch were sent.
  private var requestCount = 0
  /// Whether a request of the fetch has begun to read `supply`.
  private var hasReadBody = false
  /// The cookies of the fetch; nil once a redirect has crossed origins, and where none are kept.
  var cookies: CallCookies?
  private(set) var timing = HTTPResponse.Timing()

  init(
    services: Services, limiter: OriginLimiter, prover: DPoPProver, server: ResourceServer, method: HTTPMethod,
    cookies: CallCookies?, fetch: FetchOptions, isBoundByCaller: Bool
  ) {
    self.services = services.carried(by: server.transport)
    self.limiter = limiter
    self.prover = prover
    self.server = server
    self.method = method
    self.cookies = cookies
    scope = fetch.scope
    longWork = fetch.longWork
    supply = fetch.supply
    echo = CredentialEcho(fetch.longWork)
    policy = fetch.tokenPolicy?.within(server) ?? server.tokenPolicy(fetch.tokenDelegate)
    var options = TransferOptions(
      to: server.access, maxBodyBytes: server.maxBodyBytes, control: fetch.task?.control, peerID: fetch.scope.peer)
    // A stream without an end is no fault as long as its pieces come, unless the caller bounds all of the fetch.
    if fetch.deliver != nil, !isBoundByCaller {
      options.streaming = StreamBounds(
        silence: server.idleTimeout, deadline: fetch.scope.deadline)
    }
    options.partition = ConnectionPartition(narrowing: fetch.narrowing, user: Self.user(fetch, server))
    self.options = options
  }

  /// What identifies the user whose token goes along; nil: no user's does.
  private static func user(_ fetch: FetchOptions, _ server: ResourceServer) -> Secret<String>? {
    switch server.authentication {
    case .user, .implicit: Secret(fetch.session?.handle?.text ?? "")
    case .onBehalfOf: fetch.onBehalfOf?.value
    case .clientCredentials, .credential, .none: nil
    }
  }

  var clock: any EngineClock { services.clock }
  var observer: any EngineObserver { services.observer }
  /// The control by which the fetch is paused and its body is taken.
  var control: TransferControl? { options.control }

  /// One request and its response.
  func send(_ attempt: Attempt) async throws(ResourceError) -> HTTPResponse {
    var first: HTTPResponse?
    return try await prover.retrying(DPoPRejection.init(ofResource:)) {
      (terms) async throws(ResourceError) -> (answer: HTTPResponse, response: HTTPResponse, proof: DPoPProof?) in
      // A body that can be read once only: the rejection is the answer.
      if let first, !canRetry(attempt.request) { return (first, first, nil) }
      var proof: DPoPProof?
      let response = try await sendWithinLimits(attempt, by: terms, &proof)
      first = response
      return (response, response, proof)
    }
  }

  /// Whether `request` may be retried: its body is there, or can be read from its beginning once more.
  func canRetry(_ request: HTTPRequest) -> Bool {
    guard request.streamedBody != nil, hasReadBody, let supply else { return true }
    guard supply.rewind() else { return false }
    hasReadBody = false
    return true
  }

  /// Sends when the limits of the resource's origin permit it.
  private func sendWithinLimits(
    _ attempt: Attempt, by terms: DPoPTerms?, _ proof: inout DPoPProof?
  ) async throws(ResourceError) -> HTTPResponse {
    try await waitUntilResumed(mayHaveHadEffect: attempt.followsRedirect)
    guard let limits = server.limits else { return try await sendNow(attempt, by: terms, &proof) }
    let came = services.clock.monotonicNow
    let slot: OriginLimiter.Slot
    do throws(OriginLimiter.Rejection) {
      let key = OriginLimiter.Key(resource: server.name, origin: attempt.request.url.origin)
      let waiter = OriginLimiter.Waiter(
        deadline: { attempt.timer.deadline }, control: options.control, scope: scope)
      slot = try await limiter.enter(key, limits, waiter)
    } catch {
      throw ResourceError(error, resource: server.name, method: method, mayHaveHadEffect: attempt.followsRedirect)
    }
    let began = services.clock.monotonicNow
    timing.queued += began - came
    do throws(ResourceError) {
      let response = try await sendNow(attempt, by: terms, &proof)
      limiter.leave(slot, verdict(on: response), in: scope)
      return response
    } catch {
      limiter.leave(slot, verdict(on: error, since: began), in: scope)
      throw error
    }
  }

  /// Returns when the fetch is not paused. `mayHaveHadEffect`: whether a server has answered an earlier request of it.
  func waitUntilResumed(mayHaveHadEffect: Bool) async throws(ResourceError) {
    // A fetch that is not paused goes on to the transport even when it is cancelled: the transport knows how far the
    // request came.
    guard let control = options.control, control.isPaused else { return }
    await control.waitUntilResumed()
    guard Task.isCancelled else { return }
    throw ResourceError(
      .requestCancelled, "cancelled before the next request", outcome: mayHaveHadEffect ? .replied : .notSent)
  }

  private func sendNow(
    _ attempt: Attempt, by terms: DPoPTerms?, _ proof: inout DPoPProof?
  ) async throws(ResourceError) -> HTTPResponse {
    var request = policy.authorizing(attempt.request, with: attempt.token)
    let isAuthorized = request.fields["Authorization"] != nil
    if attempt.wantsAdvice, isAuthorized || attempt.token == nil, request.fields["x-authenticate-response"] == nil {
      request.fields["x-authenticate-response"] = "header"
    }
    if let token = attempt.token, isAuthorized { proof = try prove(&request, token, by: terms) }
    let secret = attempt.hasCredential ? server.credential?.forNextRequest() : nil
    cookies?.key.credential = secret?.fingerprint
    cookies?.attach(to: &request, now: services.clock.wallNow)
    request = try await sealed(request)
    // Last of all: nothing but the transport has the request with its secret.
    try secret?.authorize(&request, afterRedirect: attempt.followsRedirect)
    echo.sends(secret)
    var options = options
    options.deadline = attempt.timer.limit
    // The configuration names every address that a request goes to: a link-local one only if it is written there.
    options.allowsLinkLocal = request.url.origin.isLinkLocalAddress
    let result = try await transmit(request, options)
    let response: HTTPResponse
    do throws(TransportError) {
      response = try result.get()
    } catch {
      throw ResourceError(error, resource: server.name, method: method, mayHaveHadEffect: attempt.followsRedirect)
    }
    timing.queued += response.timing.queued
    timing.connect += response.timing.connect
    timing.firstByte += response.timing.firstByte
    cookies?.keep(response, from: request.url, now: services.clock.wallNow)
    locations = response.fields.values(of: "Location")
    return try await opened(await echo.hidden(in: response))
  }

  /// Hands the request to the transport, with the body that is read meanwhile.
  private func transmit(
    _ request: HTTPRequest, _ options: TransferOptions
  ) async throws(ResourceError) -> Result<HTTPResponse, TransportError> {
    guard request.streamedBody != nil, let supply, let control = options.control else {
      return await deliver(request, options)
    }
    hasReadBody = true
    let (result, failure) = await BodySending(supply: supply, control: control).send {
      await deliver(request, options)
    }
    // A server may answer before it has the body: then the answer counts.
    guard let failure, case .failure(let error) = result else { return result }
    throw ResourceError(.invalidParams, failure, path: ["bodyFrom"], outcome: error.outcome, retryable: false)
  }

  private func deliver(_ request: HTTPRequest, _ options: TransferOptions) async -> Result<HTTPResponse, TransportError>
  {
    requestCount += 1
    do throws(TransportError) {
      return .success(
        try await services.send(
          request, options: options, for: .resource(server.name), attempt: requestCount, in: scope))
    } catch {
      return .failure(error)
    }
  }

  /// The proof that goes with a token that is bound to a key (RFC 9449 section 7.1).
  private func prove(
    _ request: inout HTTPRequest, _ token: AccessToken, by terms: DPoPTerms?
  ) throws(ResourceError) -> DPoPProof? {
    guard let key = token.binding.key else { return nil }
    do throws(TokenError) {
      return try prover.prove(&request, with: key, token: token.value, by: terms, for: scope.uid)
    } catch {
      throw ResourceError(server.authentication.absence, error.detail, retryable: false)
    }
  }

  private func sealed(_ request: HTTPRequest) async throws(ResourceError) -> HTTPRequest {
    guard let encryption = server.payloadEncryption else { return request }
    guard let longWork else { return try encryption.sealed(request) }
    return try await longWork.run(on: request.body?.count ?? 0) { () throws(ResourceError) in
      try encryption.sealed(request)
    }
  }

  private func opened(_ response: HTTPResponse) async throws(ResourceError) -> HTTPResponse {
    guard let encryption = server.payloadEncryption else { return response }
    guard let longWork else { return try encryption.opened(response) }
    return try await longWork.run(on: response.body.count) { () throws(ResourceError) in
      try encryption.opened(response)
    }
  }
}

extension ResourceServer.Authentication {
  /// The error of a fetch for which there is no token that may be sent.
  var absence: ErrorCode {
    switch self {
    case .user, .onBehalfOf, .none: .notAuthenticated
    case .implicit: .notImplicitlyAuthenticated
    case .clientCredentials, .credential: .deviceNotAuthenticated
    }
  }

  /// Whether requests carry the token of a user's session.
  var isUsers: Bool { self == .user || self == .implicit }
}

/// The verdict of an exchange on its server, for the circuit breaker.
extension ResourceExchange {
  /// The errors of a gateway count as the server's.
  func verdict(on response: HTTPResponse) -> CircuitBreaker.Verdict {
    [502, 503, 504].contains(response.status) ? .failure : .success
  }

  /// Network faults and broken HTTP. TLS errors do not count: an operator has to see them to correct them. A timeout
  /// counts where the server had half of the resource's `timeout`, since a caller's own may be short.
  ///
  /// What the outbound proxy does by itself does not count: a dead proxy would open the breakers of all servers. Its
  /// answer that it does not reach the server does.
  func verdict(on error: ResourceError, since began: MonotonicInstant) -> CircuitBreaker.Verdict {
    if let proxy = error.proxyFault { return [502, 503, 504].contains(proxy.status) ? .failure : .neither }
    return switch error.code {
    case .serverUnreachable, .networkUnreachable, .protocolError: .failure
    case .deadlineExceeded: hadHalfOfTheTime(since: began) ? .failure : .neither
    default: .neither
    }
  }

  private func hadHalfOfTheTime(since began: MonotonicInstant) -> Bool {
    let now = clock.monotonicNow
    let paused = control?.pausedTime(at: now) ?? .zero
    return now - began - paused >= server.timeout / 2
  }
}
