import AccessManagement
import HTTPMessages
import OAuthClient
import PosternSupport

/// One fetch on its way: exchanges, redirects, at most one repetition with a newer token.
struct FetchOperation {
  let upstream: Upstream
  private let gate: OriginGate
  private let prover: DPoPProver
  let server: ResourceServer
  private let tokens: (any TokenSource)?
  private let method: HTTPMethod
  private(set) var options: TransferOptions
  private let followsRedirects: Bool
  private let trace: TraceContext?
  private let longWork: LongWork?
  private let policy: TokenManagementPolicy
  private let started: MonotonicInstant
  /// The bound of the caller's own patience.
  private let callerDeadline: Deadline
  /// Whether the caller has said how long all of it may take: the user's time counts as well then.
  private let hasOwnTimeout: Bool
  private var advice: AdviceRounds?
  /// Whether a refused request has been sent again because there was a newer token by then.
  private var hasTriedNewer = false

  private var cookies: CallCookies?
  private var attempts = 1
  private var redirects = 0
  private var tokenRefreshed = false
  private var timing = HTTPResponse.Timing()

  init(
    upstream: Upstream, gate: OriginGate, prover: DPoPProver, server: ResourceServer, tokens: (any TokenSource)?,
    method: HTTPMethod, deadline: Deadline, cookies: CallCookies?, fetch: FetchOptions, advice: AdviceRounds? = nil
  ) {
    self.upstream = upstream.carried(by: server.transport)
    self.gate = gate
    self.prover = prover
    self.server = server
    self.tokens = tokens
    self.method = method
    self.cookies = cookies
    followsRedirects = fetch.followsRedirects
    trace = fetch.trace
    longWork = fetch.longWork
    policy = fetch.tokenPolicy?.within(server) ?? server.tokenPolicy(fetch.tokenDelegate)
    options = TransferOptions(
      deadline: deadline, maxBodyBytes: server.maxBodyBytes, allowsPlainHTTP: server.allowsPlainHTTPOnLoopback,
      caFile: server.caFile, clientIdentity: server.clientIdentity, pins: server.pins, control: fetch.task?.control,
      requester: fetch.requester)
    started = upstream.clock.monotonicNow
    callerDeadline = fetch.deadline
    hasOwnTimeout = fetch.timeout != nil
    // What has no end is no fault as long as it comes, unless the caller has said how long all of it may take.
    if fetch.deliver != nil, !hasOwnTimeout {
      options.streaming = StreamBounds(
        silence: min(server.timeout, ResourceServer.maxTimeout), deadline: fetch.deadline)
    }
    self.advice = advice
  }

  /// Carries `original` out, from the token to the last answer.
  mutating func run(_ original: HTTPRequest) async throws(ResourceError) -> ResourceResponse {
    var request = try await resumed(original)
    // Once a redirect has crossed origins the token is gone for good, and so are kept cookies: the way back may be the
    // other side's idea.
    var token = try await firstToken()
    while true {
      let response = try await exchange(request, token)
      // Before a newer token is thought of: the one at hand may be as good as the user's login allows.
      if let used = token, let next = try await advised(response, to: request, with: used, original) {
        request = next
        token = try await firstToken()
        continue
      }
      if let rejected = token, !tokenRefreshed, await policy.requiresRenewal(response, of: rejected) {
        guard let newer = try await replacement(of: rejected, answer: result(response, from: request)) else {
          return result(response, from: request)
        }
        upstream.observer.observe(.tokenRejected(resource: server.name))
        token = newer
        attempts += 1
        tokenRefreshed = true
        continue
      }
      guard followsRedirects, let step = RedirectRules.next(after: request, response, within: server) else {
        return result(response, from: request)
      }
      redirects += 1
      guard redirects <= RedirectRules.limit else {
        throw ResourceError(
          .protocolError, "more than \(RedirectRules.limit) redirects", outcome: .replied,
          upstream: .init(status: response.status), retryable: false)
      }
      request = step.request
      if step.crossesOrigins {
        token = nil
        cookies = nil
      }
    }
  }

  /// The request of a fetch that goes on where advice had stopped it.
  private mutating func resumed(_ original: HTTPRequest) async throws(ResourceError) -> HTTPRequest {
    guard var rounds = advice else { return original }
    defer { advice = rounds }
    guard let satisfied = rounds.resume() else { return original }
    return try await rounds.updated(original, after: satisfied)
  }

  /// The request to send again once the advice of `response` is satisfied; nil when there is none. Always the one that
  /// the caller asked for, wherever redirects have led.
  private mutating func advised(
    _ response: HTTPResponse, to request: HTTPRequest, with token: AccessToken, _ original: HTTPRequest
  ) async throws(ResourceError) -> HTTPRequest? {
    guard let rounds = advice else { return nil }
    guard let advices = await rounds.advices(in: response, from: request.url) else { return nil }
    // Another fetch's user may have done it since the request was sent.
    if !advices.contains(where: \.isTransaction), !hasTriedNewer, let newer = try await firstToken(),
      newer.value != token.value
    {
      hasTriedNewer = true
      attempts += 1
      return request
    }
    try await satisfy(advices, answer: result(response, from: request))
    attempts += 1
    return try await rounds.updated(original, after: advices)
  }

  /// Has `advices` satisfied, in the user's own time.
  private mutating func satisfy(
    _ advices: [PolicyAdvice], answer: ResourceResponse?, forToken: Bool = false
  ) async throws(ResourceError) {
    guard var rounds = advice else { return }
    let began = upstream.clock.monotonicNow
    try await rounds.satisfy(
      advices, answer: answer, forToken: forToken, deadline: hasOwnTimeout ? deadline : callerDeadline)
    advice = rounds
    guard !hasOwnTimeout, let instant = options.deadline.instant else { return }
    options.deadline = callerDeadline.earlier(
      Deadline(instant: instant + (upstream.clock.monotonicNow - began)))
  }

  /// When the call must be over: what it has been held is added.
  var deadline: Deadline {
    guard let instant = options.deadline.instant, let control = options.control else { return options.deadline }
    return Deadline(instant: instant + control.heldTime(at: upstream.clock.monotonicNow))
  }

  private mutating func firstToken() async throws(ResourceError) -> AccessToken? {
    guard let tokens else { return nil }
    let token = try await token(from: tokens, replacing: nil)
    guard isBoundEnough(token) else {
      throw ResourceError(
        tokens.absence, "the resource takes none but tokens bound to a key (dpop), and the issuer gave a bearer token",
        upstream: .init(code: "token_not_bound"), retryable: false)
    }
    return token
  }

  /// A token, in time that stands still while the call is held. Where the issuer asks the user for something first,
  /// that is done; else the call ends, with the answer as it stood.
  private mutating func token(
    from tokens: any TokenSource, replacing rejected: AccessToken?, answer: ResourceResponse? = nil
  ) async throws(ResourceError) -> AccessToken {
    while true {
      try await untilReleased()
      let due = deadline
      do throws(ResourceError) {
        return try await tokens.token(replacing: rejected, deadline: due, trace: trace)
      } catch {
        if error.code == .adviceRequired, let advices = error.stop?.advices, advice?.rules.canSatisfy(advices) == true {
          try await satisfy(advices, answer: answer, forToken: true)
          continue
        }
        // What it was held meanwhile is not the call's own time.
        guard error.code == .deadlineExceeded, deadline != due else { throw error }
      }
    }
  }

  /// Returns when the call is not held.
  private func untilReleased() async throws(ResourceError) {
    // What is not held goes on to the transport even when it is cancelled: that tells how far it came.
    guard let control = options.control, control.isHeld else { return }
    await control.untilReleased()
    guard Task.isCancelled else { return }
    throw ResourceError(
      .requestCancelled, "cancelled before the next request",
      outcome: redirects > 0 || attempts > 1 ? .replied : .notSent)
  }

  /// Whether the token may be shown to a resource that wants it bound to a key.
  private func isBoundEnough(_ token: AccessToken) -> Bool {
    server.senderConstraint != .dpop || token.binding.key != nil
  }

  /// A newer token; nil when there is none to be had, so that the answer stands as it is. Cancellation and the deadline
  /// end the call.
  private mutating func replacement(
    of rejected: AccessToken, answer: ResourceResponse
  ) async throws(ResourceError) -> AccessToken? {
    guard let tokens else { return nil }
    do throws(ResourceError) {
      let token = try await token(from: tokens, replacing: rejected, answer: answer)
      return isBoundEnough(token) ? token : nil
    } catch {
      switch error.code {
      case .requestCancelled:
        throw ResourceError(.requestCancelled, "cancelled while a refused token was renewed", outcome: .replied)
      case .deadlineExceeded:
        throw ResourceError(
          .deadlineExceeded, "the deadline passed while a refused token was renewed", outcome: .replied,
          retryable: true)
      case .adviceRequired where error.stop?.continuation != nil, .adviceFailed: throw error
      default: return nil
      }
    }
  }

  /// One request and its answer. A resource that wants a nonce of its own in the proof (RFC 9449 section 9), or has
  /// another clock, is asked once more, with the body as it was: it has done nothing yet.
  private mutating func exchange(
    _ request: HTTPRequest, _ token: AccessToken?
  ) async throws(ResourceError) -> HTTPResponse {
    var proof: DPoPProof?
    let response = try await send(request, token, by: nil, &proof)
    guard let terms = learned(from: response, proof) else { return response }
    let second = try await send(request, token, by: terms, &proof)
    _ = learned(from: second, proof)
    return second
  }

  private func learned(from response: HTTPResponse, _ proof: DPoPProof?) -> DPoPTerms? {
    proof.flatMap { prover.learn(from: response, to: $0, DPoPRejection(ofResource: response)) }
  }

  /// One request, when the resource's limits let it go.
  private mutating func send(
    _ request: HTTPRequest, _ token: AccessToken?, by terms: DPoPTerms?, _ proof: inout DPoPProof?
  ) async throws(ResourceError) -> HTTPResponse {
    try await untilReleased()
    guard let limits = server.limits else { return try await sendNow(request, token, by: terms, &proof) }
    let came = upstream.clock.monotonicNow
    let place: OriginGate.Place
    do throws(OriginGate.Refusal) {
      let key = OriginGate.Key(resource: server.name, origin: request.url.origin)
      let visitor = OriginGate.Visitor(
        deadline: { [self] in deadline }, control: options.control, requester: options.requester)
      place = try await gate.enter(key, limits, visitor)
    } catch {
      throw ResourceError(error, resource: server.name, method: method, mayHaveHadEffect: redirects > 0)
    }
    let began = upstream.clock.monotonicNow
    timing.queued += began - came
    do throws(ResourceError) {
      let response = try await sendNow(request, token, by: terms, &proof)
      gate.leave(place, verdict(on: response))
      return response
    } catch {
      gate.leave(place, verdict(on: error, since: began))
      throw error
    }
  }

  private mutating func sendNow(
    _ request: HTTPRequest, _ token: AccessToken?, by terms: DPoPTerms?, _ proof: inout DPoPProof?
  ) async throws(ResourceError) -> HTTPResponse {
    var request = policy.authorizing(request, with: token)
    if token != nil, request.fields["Authorization"] != nil { advice?.ask(&request) }
    if let token, request.fields["Authorization"] != nil { proof = try prove(&request, token, by: terms) }
    cookies?.attach(to: &request, now: upstream.clock.wallNow)
    request = try await sealed(request)
    var options = options
    // Wherever a request goes the configuration has named: such an address only if it stands there as one.
    options.allowsLinkLocal = request.url.origin.isLinkLocalAddress
    let response: HTTPResponse
    do throws(TransportError) {
      response = try await upstream.send(request, options: options, for: .resource(server.name), trace: trace)
    } catch {
      throw ResourceError(error, method: method, mayHaveHadEffect: redirects > 0)
    }
    timing.queued += response.timing.queued
    timing.connect += response.timing.connect
    timing.firstByte += response.timing.firstByte
    cookies?.keep(response, from: request.url, now: upstream.clock.wallNow)
    return try await opened(response)
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

  /// The proof that goes with a token that is bound to a key (RFC 9449 section 7.1).
  private func prove(
    _ request: inout HTTPRequest, _ token: AccessToken, by terms: DPoPTerms?
  ) throws(ResourceError) -> DPoPProof? {
    guard let key = token.binding.key else { return nil }
    do throws(TokenError) {
      return try prover.prove(&request, with: key, token: token.value, by: terms)
    } catch {
      throw ResourceError(tokens?.absence ?? .notAuthenticated, error.detail, retryable: false)
    }
  }

  private func result(_ response: HTTPResponse, from request: HTTPRequest) -> ResourceResponse {
    var timing = timing
    timing.total = upstream.clock.monotonicNow - started
    return ResourceResponse(
      status: response.status, reason: response.reason, url: request.url, fields: response.fields, body: response.body,
      retryAfter: [429, 503].contains(response.status)
        ? RetryAfter.of(response.fields, at: upstream.clock.wallNow) : nil,
      attempts: attempts, tokenRefreshed: tokenRefreshed, advicesSatisfied: advice?.progress.satisfied ?? [],
      timing: timing)
  }
}
