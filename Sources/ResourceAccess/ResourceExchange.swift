import HTTPMessages
import OAuthClient
import PosternSupport
import Sessions

/// Sends the requests of one fetch to its resource server, within the limits of their origins: with the token and its
/// proof, with cookies, and with encrypted bodies. Each function is a step of `FetchCall`, to which the order belongs.
///
/// `@unchecked`: it belongs to that call, as the call's own properties do.
final class ResourceExchange: @unchecked Sendable {
  /// A request that has a slot of its origin.
  private struct Admitted {
    let slot: OriginLimiter.Slot
    let since: MonotonicInstant
  }

  let server: ResourceServer
  private let services: Services
  private let fetcher: ResourceFetcher
  private let method: HTTPMethod
  private let fetch: FetchOptions
  private var scope: CallScope { fetch.scope }
  private var options: TransferOptions
  private(set) lazy var policy = fetch.tokenPolicy?.within(server) ?? server.tokenPolicy(fetch.tokenDelegate)
  /// Hides the credential of the requests in what comes back; nil: they carry none.
  let echo: CredentialEcho?
  /// How many requests of the fetch were sent.
  private var requestCount = 0
  /// Whether a request of the fetch has begun to read `supply`.
  private var hasReadBody = false
  /// The cookies of the fetch; nil once a redirect has crossed origins, and where none are kept.
  var cookies: CallCookies?
  private(set) var timing = HTTPResponse.Timing()

  /// The slot of the request that is under way, where the resource has limits.
  private var admitted: Admitted?
  /// The request that is under way, as it is sent.
  private var outgoing: HTTPRequest?
  private var proof: DPoPProof?
  /// The server's terms for the proof of a retry.
  private var terms: DPoPTerms?
  private var secret: StaticCredential.Current?
  private var reported: ReportedExchange?
  private var result: Result<HTTPResponse, TransportError>?
  /// The last response.
  private(set) var response: HTTPResponse?
  /// The targets of the last response where that is a redirect, as the server sent them.
  private(set) var locations: [String] = []

  init(
    _ fetcher: ResourceFetcher, _ server: ResourceServer, method: HTTPMethod, _ fetch: FetchOptions,
    isBoundByCaller: Bool
  ) {
    services = fetcher.services.carried(by: server.transport)
    self.fetcher = fetcher
    self.server = server
    self.method = method
    self.fetch = fetch
    cookies = CallCookies(fetcher.cookies, server, fetch)
    echo = server.authentication == .credential ? CredentialEcho(fetch.longWork) : nil
    options = server.prepared.transfer
    options.control = fetch.task?.control
    options.peerID = fetch.scope.peer
    // A stream without an end is no fault as long as its pieces come, unless the caller bounds all of the fetch.
    if fetch.deliver != nil, !isBoundByCaller {
      options.streaming = StreamBounds(
        silence: server.idleTimeout, deadline: fetch.scope.deadline)
    }
    options.partition = ConnectionPartition(narrowing: fetch.narrowing, user: Self.user(fetch, server))
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

  /// Whether `request` may be retried: its body is there, or can be read from its beginning once more.
  func canRetry(_ request: HTTPRequest) -> Bool {
    guard request.streamedBody != nil, hasReadBody, let supply = fetch.supply else { return true }
    guard supply.rewind() else { return false }
    hasReadBody = false
    return true
  }

  /// Whether the fetch is paused.
  var isPaused: Bool { options.control?.isPaused == true }

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

  // MARK: - The limits of the origin

  /// Waits until the limits of the origin permit `request`. `followsRedirect`: whether a server may have acted on an
  /// earlier request of the fetch, one that it redirected.
  func enterOrigin(
    of request: HTTPRequest, within timer: FetchTimer, followsRedirect: Bool
  ) async throws(ResourceError) {
    guard let limits = server.limits else { return }
    let came = clock.monotonicNow
    do throws(OriginLimiter.Rejection) {
      let key = OriginLimiter.Key(resource: server.name, origin: request.url.origin)
      let waiter = OriginLimiter.Waiter(
        deadline: { timer.deadline }, control: options.control, scope: scope)
      let slot = try await fetcher.limiter.enter(key, limits, waiter)
      admitted = Admitted(slot: slot, since: clock.monotonicNow)
    } catch {
      throw ResourceError(error, resource: server.name, method: method, mayHaveHadEffect: followsRedirect)
    }
    timing.queued += clock.monotonicNow - came
  }

  /// Gives the slot back, behind a response or `error`.
  func leaveOrigin(after error: ResourceError? = nil) {
    guard let admitted = admitted.take() else { return }
    let verdict =
      if let error { verdict(on: error, since: admitted.since) } else { response.map(verdict(on:)) ?? .neither }
    fetcher.limiter.leave(admitted.slot, verdict, in: scope)
  }

  // MARK: - The request

  /// The fetch goes on with the cookies of a user who has logged in meanwhile.
  func use(_ session: SessionRef) {
    var options = fetch
    options.session = session
    options.cookieScope = CookieScope(uid: session.uid, session: session.handle)
    cookies = CallCookies(fetcher.cookies, server, options)
  }

  /// Adds the token with its proof, and cookies. `wantsAdvice`: whether gateways are to put their advice where it can be
  /// read without following redirects. `hasCredential`: whether the request carries the resource's own credential, which
  /// it does not once a redirect has crossed origins.
  func authorize(
    _ request: consuming HTTPRequest, _ token: AccessToken?, wantsAdvice: Bool, hasCredential: Bool
  ) throws(ResourceError) {
    if let token { request = policy.authorizing(request, with: token) }
    let isAuthorized = request.fields["Authorization"] != nil
    if wantsAdvice, isAuthorized || token == nil, request.fields["x-authenticate-response"] == nil {
      request.fields["x-authenticate-response"] = "header"
    }
    proof = nil
    if let token, isAuthorized { proof = try prove(&request, token, by: terms) }
    secret = hasCredential ? server.credential?.forNextRequest() : nil
    if cookies != nil {
      cookies?.key.credential = secret?.fingerprint
      cookies?.attach(to: &request, now: clock.wallNow)
    }
    outgoing = request
  }

  /// Encrypts the body, where the resource's are.
  func seal() async throws(ResourceError) {
    guard let encryption = server.payloadEncryption, let request = outgoing else { return }
    guard let longWork = fetch.longWork else { return outgoing = try encryption.sealed(request) }
    outgoing = try await longWork.run(on: request.body?.count ?? 0) { () throws(ResourceError) in
      try encryption.sealed(request)
    }
  }

  /// Adds the credential last of all: nothing but the transport has the request with its secret.
  func complete(within deadline: Deadline, followsRedirect: Bool) throws(ResourceError) {
    guard let origin = outgoing?.url.origin else { return }
    if let secret, var request = outgoing {
      try secret.authorize(&request, afterRedirect: followsRedirect)
      echo?.sends(secret)
      outgoing = request
    }
    options.deadline = deadline
    // The configuration names every address that a request goes to: a link-local one only if it is written there.
    options.allowsLinkLocal = origin.isLinkLocalAddress
    requestCount += 1
  }

  /// Whether the body is read while the request is sent.
  var readsBody: Bool { outgoing?.streamedBody != nil && fetch.supply != nil && options.control != nil }

  /// Hands the request to the transport; `received` has the result behind `whenEnded`.
  func start(whenEnded: @escaping @Sendable () -> Void) -> (any TransferHandle)? {
    guard let request = outgoing.take() else { return nil }
    let exchange = services.begin(request, for: .resource(server.name), attempt: requestCount, in: scope)
    reported = exchange
    return exchange.start(options: options) { result in
      self.result = result
      whenEnded()
    }
  }

  /// Sends the request from the calling task, with the body that is read meanwhile.
  func send() async throws(ResourceError) {
    guard let request = outgoing.take() else { return }
    guard request.streamedBody != nil, let supply = fetch.supply, let control = options.control else {
      return result = await deliver(request)
    }
    hasReadBody = true
    let (result, failure) = await BodySending(supply: supply, control: control).send { await deliver(request) }
    self.result = result
    // A server may answer before it has the body: then the answer counts.
    guard let failure, case .failure(let error) = result else { return }
    throw ResourceError(.invalidParams, failure, path: ["bodyFrom"], outcome: error.outcome, retryable: false)
  }

  private func deliver(_ request: HTTPRequest) async -> Result<HTTPResponse, TransportError> {
    do throws(TransportError) {
      return .success(
        try await services.send(
          request, options: options, for: .resource(server.name), attempt: requestCount, in: scope))
    } catch {
      return .failure(error)
    }
  }

  // MARK: - The response

  /// Takes the result of a transfer.
  func received(from url: HTTPURL, followsRedirect: Bool) throws(ResourceError) {
    guard let result = result.take() else { return }
    reported.take()?.end(result)
    let response: HTTPResponse
    do throws(TransportError) {
      response = try result.get()
    } catch {
      throw ResourceError(error, resource: server.name, method: method, mayHaveHadEffect: followsRedirect)
    }
    timing.queued += response.timing.queued
    timing.connect += response.timing.connect
    timing.firstByte += response.timing.firstByte
    cookies?.keep(response, from: url, now: clock.wallNow)
    locations = RedirectRules.isRedirect(response.status) ? response.fields.values(of: "Location") : []
    self.response = response
  }

  /// Whether the response has to be searched for the credential, or decrypted.
  var hidesOrDecrypts: Bool { echo != nil || server.payloadEncryption != nil }

  /// Hides the credential in the response, and decrypts it.
  func open() async throws(ResourceError) {
    guard let response else { return }
    self.response = try await opened(await echo?.hidden(in: response) ?? response)
  }

  /// Learns what the response shows about the proof of its request; whether the request is sent with another one now.
  func wantsAnotherProof(for request: HTTPRequest) -> Bool {
    let isRetry = terms != nil
    terms = nil
    guard let response, let proof = proof.take(),
      let terms = fetcher.prover.learn(from: response, to: proof, DPoPRejection(ofResource: response)),
      !isRetry, canRetry(request)
    else { return false }
    self.terms = terms
    return true
  }

  /// The proof that goes with a token that is bound to a key (RFC 9449 section 7.1).
  private func prove(
    _ request: inout HTTPRequest, _ token: AccessToken, by terms: DPoPTerms?
  ) throws(ResourceError) -> DPoPProof? {
    guard let key = token.binding.key else { return nil }
    do throws(TokenError) {
      return try fetcher.prover.prove(&request, with: key, token: token.value, by: terms, for: scope.uid)
    } catch {
      throw ResourceError(server.authentication.absence, error.detail, retryable: false)
    }
  }

  private func opened(_ response: HTTPResponse) async throws(ResourceError) -> HTTPResponse {
    guard let encryption = server.payloadEncryption else { return response }
    guard let longWork = fetch.longWork else { return try encryption.opened(response) }
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
