import HTTPMessages
import OAuthClient
import PosternSupport
import SessionRecords
import Sessions

/// One fetch from its checks to its last response: the session, the token, redirects, advice, and one retry with a
/// newer token.
///
/// A machine of steps. A step that has to wait starts what it waits for, a transfer or a task, and the call continues
/// with the next phase when that has ended. Where nothing but the transfer has to be waited for no task is started.
///
/// `@unchecked`: the properties belong to the step, or to the task that a step waits for; only `turn` is shared with
/// whoever cancels the call or ends a wait. So the phase and the references are not checked for exclusive access.
package final class FetchCall: TransferHandle, PostedWork, @unchecked Sendable {
  /// What the call does next.
  enum Phase {
    case check, session, resume, token
    case admission, origin, request, transfer, ended, response, proof
    case answer, advice, verdict, replacement, redirect
    case delivery
  }

  /// What follows a step.
  enum Progress { case next, wait, end }

  /// How far the fetch has come.
  private struct Count {
    var attempts = 1
    var redirects = 0
    var tokenRefreshed = false
    /// Whether a rejected request was retried because there was a newer token by then.
    var hasTriedNewer = false
    /// Whether a redirect has led to another origin.
    var hasCrossedOrigins = false

    /// Whether a server has answered a request of the fetch.
    var hasAnswer: Bool { redirects > 0 || attempts > 1 }
  }

  /// A request of the fetch, behind one reference: steps hand it on.
  private final class Message: Sendable {
    let request: HTTPRequest

    init(_ request: HTTPRequest) { self.request = request }
  }

  /// A response, and the request that it answers.
  private final class Answer: Sendable {
    let message: Message
    let response: HTTPResponse
    let advices: [PolicyAdvice]

    init(_ response: HTTPResponse, to message: Message, _ advices: [PolicyAdvice]) {
      self.response = response
      self.message = message
      self.advices = advices
    }

    var request: HTTPRequest { message.request }
  }

  /// Why a wait ends the fetch. A class, since each step looks whether there is one, and an error is large.
  private final class Failure: Sendable {
    let error: ResourceError

    init(_ error: ResourceError) { self.error = error }
  }

  private let fetcher: ResourceFetcher
  private let given: ResourceRequest
  private let server: ResourceServer
  private let options: FetchOptions
  private let turn: CallTurn
  private var scope: CallScope { options.scope }

  @exclusivity(unchecked) private var phase = Phase.check
  /// Why the last wait ends the fetch.
  @exclusivity(unchecked) private var failure: Failure?
  private var count = Count()
  private var timer: FetchTimer
  private var advice: AdviceRounds?
  /// Nil: the requests carry no token.
  private var tokens: TokenSource?
  /// Keeps a user's tokens from being revoked behind a step-up while the call may carry them.
  private var use: RunningUses<RecordKey>.Use?
  @exclusivity(unchecked) private var exchange: ResourceExchange?
  @exclusivity(unchecked) private var delivery: BodyDelivery.Running?
  /// The request that was asked for, and the one that is sent now.
  @exclusivity(unchecked) private var original: Message?
  @exclusivity(unchecked) private var message: Message?
  private var token: AccessToken?
  @exclusivity(unchecked) private var answer: Answer?
  private var result: Result<ResourceResponse, ResourceError>?
  private var whenEnded: (@Sendable (Result<ResourceResponse, ResourceError>) -> Void)?

  init(
    _ fetcher: ResourceFetcher, _ request: ResourceRequest, _ server: ResourceServer, _ options: FetchOptions,
    _ poster: (any WorkPoster)?, waits: Bool
  ) {
    self.fetcher = fetcher
    given = request
    self.server = server
    self.options = options
    turn = CallTurn(on: options.scope.executor, poster, waits: waits)
    timer = FetchTimer(options, server, clock: fetcher.clock)
  }

  /// The outcome of a fetch whose task was cancelled, or used, before the fetch began; nil otherwise.
  func outcomeWithoutRunning() -> Result<ResourceResponse, ResourceError>? { options.task?.take(self) }

  // MARK: - Running

  /// Runs the call on the calling task, which waits where the call does.
  func run() async -> Result<ResourceResponse, ResourceError> {
    await withTaskCancellationHandler {
      while advance() { await turn.wait() }
    } onCancel: {
      cancel()
    }
    return end()
  }

  /// Runs the call without a task: `whenEnded` is called once with its outcome, perhaps before this returns.
  package func start(whenEnded: @escaping @Sendable (Result<ResourceResponse, ResourceError>) -> Void) {
    if let outcome = outcomeWithoutRunning() { return whenEnded(outcome) }
    self.whenEnded = whenEnded
    runPosted()
  }

  /// Goes on behind a wait.
  package func runPosted() {
    while advance() {
      guard turn.hasEnded(orElse: self) else { return }
    }
    whenEnded.take()?(end())
  }

  /// Ends the call, wherever it is, in its own time. Cancelling the task of `run` does the same.
  package func cancel() { turn.cancel() }

  /// The outcome, also of the call's task.
  private func end() -> Result<ResourceResponse, ResourceError> {
    let result = result.take() ?? .failure(ResourceError(.internalError, "the fetch ended without a result"))
    return options.task?.completed(result) ?? result
  }

  /// Takes steps up to the next wait; false when the call has ended.
  private func advance() -> Bool {
    while true {
      do throws(ResourceError) {
        if let failure = failure.take() { throw failure.error }
        while true {
          switch try step() {
          case .next: if turn.waits { return waitOnce() }
          case .wait: return true
          case .end:
            use?.end()
            return false
          }
        }
      } catch {
        exchange?.leaveOrigin(after: error)
        finish(.failure(error))
      }
    }
  }

  /// For tests: the step that could follow at once comes after a wait.
  private func waitOnce() -> Bool {
    _ = wait(then: phase) { () async throws(ResourceError) in await Task.yield() }
    return true
  }

  /// Waits for `work`, which is done in a task, and continues with `next`.
  private func wait(
    then next: Phase, for work: @escaping @Sendable () async throws(ResourceError) -> Void
  ) -> Progress {
    phase = next
    turn.await {
      do throws(ResourceError) { try await work() } catch { self.failure = Failure(error) }
    }
    return .wait
  }

  private func next(_ next: Phase) -> Progress {
    phase = next
    return .next
  }

  /// Sets the outcome. A body that is delivered in pieces may still have to be delivered.
  private func finish(_ result: Result<ResourceResponse, ResourceError>) {
    self.result = result
    phase = .delivery
  }

  // MARK: - The story

  private func step() throws(ResourceError) -> Progress {
    switch phase {
    case .check: try check()
    case .session: try findSession()
    case .resume: try resume()
    case .token: try findToken()
    case .admission: waitUntilResumed(then: .origin)
    case .origin: try enterOrigin()
    case .request: try prepareRequest()
    case .transfer: try transfer()
    case .ended: try transferred()
    case .response: received()
    case .proof: checkProof()
    case .answer: findAdvice()
    case .advice: satisfyAdvice()
    case .verdict: judge()
    case .replacement: replaceToken()
    case .redirect: try redirect()
    case .delivery: deliver()
    }
  }

  private func check() throws(ResourceError) -> Progress {
    let prepared = try fetcher.prepare(given, server, options)
    options.task?.began(server.shown(prepared.message.url))
    original = Message(prepared.message)
    exchange = ResourceExchange(
      fetcher, server, method: prepared.method, options, isBoundByCaller: timer.isBoundByCaller)
    return next(.session)
  }

  /// Finds the session of the fetch, once.
  private func findSession() throws(ResourceError) -> Progress {
    switch try fetcher.knownTokenSource(options, server) {
    case .known(let source):
      tokens = source
      return next(.resume)
    case .inStore:
      return wait(then: .resume) { () async throws(ResourceError) in
        self.tokens = try await self.fetcher.tokenSource(self.options, self.server)
      }
    }
  }

  /// Begins with the first request: of a fetch that is resumed after advice, that as the advice changes it.
  private func resume() throws(ResourceError) -> Progress {
    guard let exchange, let original else { return .end }
    if server.authentication == .user { use = tokens?.session?.beginUse() }
    advice = fetcher.adviceRounds(options, server, tokens?.session?.handle)
    if let task = options.task, let deliver = options.deliver {
      let delivery = BodyDelivery.Running(
        BodyDelivery(
          task: task, deliver: deliver, deliverHead: options.deliverHead, largest: options.pieceBytes,
          echo: exchange.echo),
        in: turn)
      task.control.takeBodies(
        piecesOf: options.pieceBytes, withHead: options.deliverHead != nil, whenPending: delivery.begin,
        where: server.streams(consultsDelegate: options.consultsDelegate))
      self.delivery = delivery
    }
    message = original
    guard var rounds = advice else { return next(.token) }
    let satisfied = rounds.resume()
    advice = rounds
    guard let satisfied else { return next(.token) }
    return wait(then: .token) { [rounds, event = event(original.request)] () async throws(ResourceError) in
      self.message = Message(try await rounds.updated(event, after: satisfied))
    }
  }

  /// Once a redirect has crossed origins the following requests have no token, no credential and no cookies: the way
  /// back may be the other origin's idea. So the token is found before the first one.
  private func findToken() throws(ResourceError) -> Progress {
    guard let tokens, let exchange, let message else { return next(.admission) }
    if !exchange.isPaused, let token = try tokens.cachedToken(for: server, in: scope) {
      self.token = try constrained(token)
      return next(.admission)
    }
    return wait(then: .admission) { () async throws(ResourceError) in
      self.token = try await self.firstToken(for: message.request)
    }
  }

  // MARK: - One request

  /// Waits while the fetch is paused. A fetch that is not paused goes to the transport even if it is cancelled: only
  /// the transport knows how much of the request was sent.
  private func waitUntilResumed(then next: Phase) -> Progress {
    guard let exchange, exchange.isPaused else { return self.next(next) }
    return wait(then: next) { () async throws(ResourceError) in
      try await exchange.waitUntilResumed(mayHaveHadEffect: self.count.redirects > 0)
    }
  }

  private func enterOrigin() throws(ResourceError) -> Progress {
    guard server.limits != nil, let exchange, let message else { return next(.request) }
    let followsRedirect = count.redirects > 0
    return wait(then: .request) { [timer] () async throws(ResourceError) in
      try await exchange.enterOrigin(of: message.request, within: timer, followsRedirect: followsRedirect)
    }
  }

  private func prepareRequest() throws(ResourceError) -> Progress {
    guard let exchange, let message else { return .end }
    try exchange.authorize(
      message.request, token, wantsAdvice: advice != nil && satisfiable?.wantsHeader == true,
      hasCredential: hasCredential)
    guard server.payloadEncryption != nil else { return next(.transfer) }
    return wait(then: .transfer) { () async throws(ResourceError) in try await exchange.seal() }
  }

  private func transfer() throws(ResourceError) -> Progress {
    guard let exchange else { return .end }
    try exchange.complete(within: timer.limit, followsRedirect: count.redirects > 0)
    // The transport learns of a cancelled task before it has the request.
    if exchange.readsBody || turn.isCancelled {
      return wait(then: .ended) { () async throws(ResourceError) in try await exchange.send() }
    }
    phase = .ended
    turn.transfer { whenEnded in exchange.start(whenEnded: whenEnded) }
    return .wait
  }

  private func transferred() throws(ResourceError) -> Progress {
    guard let exchange, let message else { return .end }
    try exchange.received(from: message.request.url, followsRedirect: count.redirects > 0)
    guard exchange.hidesOrDecrypts else { return next(.response) }
    return wait(then: .response) { () async throws(ResourceError) in try await exchange.open() }
  }

  private func received() -> Progress {
    exchange?.leaveOrigin()
    return next(.proof)
  }

  /// Retries a request whose proof the server rejected, once, by the terms that it gave.
  private func checkProof() -> Progress {
    guard let exchange, let message else { return .end }
    if exchange.wantsAnotherProof(for: message.request) { return next(.admission) }
    return next(.answer)
  }

  /// Whether requests carry the resource's own credential now.
  private var hasCredential: Bool { server.authentication == .credential && !count.hasCrossedOrigins }

  // MARK: - The answer

  /// The answer with its advices: as the fetch's policy finds them, else by the resource server's rules.
  private func findAdvice() -> Progress {
    guard let exchange, let message, let response = exchange.response else { return .end }
    if advice != nil, let satisfiable {
      return wait(then: .advice) { [event = event(message.request, response)] () async throws(ResourceError) in
        self.answer = Answer(response, to: message, await satisfiable.advices(in: event, self.scope))
      }
    }
    var advices: [PolicyAdvice] = []
    if let rules = advice?.rules ?? server.advice {
      advices = rules.recognizer.finding(in: response, from: message.request.url)?.advices ?? []
    }
    answer = Answer(response, to: message, advices)
    return next(.verdict)
  }

  /// Advice before a newer token: this token may be as good as the user's login permits. An error behind a success is
  /// not that of a request without effect.
  private func satisfyAdvice() -> Progress {
    guard let exchange, let answer, let original, let rounds = satisfiable, rounds.rules.canSatisfy(answer.advices),
      exchange.canRetry(original.request)
    else { return next(.verdict) }
    return wait(then: .admission) { () async throws(ResourceError) in
      do throws(ResourceError) {
        let next = try await self.advised(rounds, answer, original.request)
        self.token = try await self.firstToken(for: next)
        self.message = Message(next)
      } catch {
        throw AdviceRecognizer.deniesWithoutEffect(answer.response.status) ? error : error.answered
      }
    }
  }

  private func judge() -> Progress {
    guard let token, let exchange, let answer, !count.tokenRefreshed else { return next(.redirect) }
    guard exchange.policy.hasDelegate else {
      return next(exchange.policy.isRejection(answer.response, of: token) ? .replacement : .redirect)
    }
    let event = event(answer.request, answer.response)
    return wait(then: .replacement) { () async throws(ResourceError) in
      if await !exchange.policy.requiresRefresh(event, of: token) { self.phase = .redirect }
    }
  }

  /// Retries the request with a newer token, once.
  private func replaceToken() -> Progress {
    guard let exchange, let answer, let rejected = token else { return .end }
    return wait(then: .admission) { () async throws(ResourceError) in
      guard let newer = try await self.replacement(of: rejected, after: answer) else { return self.finish(answer) }
      exchange.observer.observe(.tokenRejected(resource: self.server.name), in: self.scope)
      self.count.tokenRefreshed = true
      // With a body that can be read once only the next call has the newer token.
      guard exchange.canRetry(answer.request) else { return self.finish(answer) }
      self.token = newer
      self.count.attempts += 1
    }
  }

  private func redirect() throws(ResourceError) -> Progress {
    guard let exchange, let answer else { return .end }
    guard options.followsRedirects, RedirectRules.isRedirect(answer.response.status),
      let step = RedirectRules.next(
        after: answer.request, answer.response.status, to: exchange.locations, within: server),
      exchange.canRetry(step.request)
    else {
      finish(answer)
      return .next
    }
    count.redirects += 1
    guard count.redirects <= RedirectRules.limit else {
      throw ResourceError(
        .protocolError, "more than \(RedirectRules.limit) redirects", outcome: .replied,
        upstream: .init(status: answer.response.status), retryable: false)
    }
    message = Message(step.request)
    if step.crossesOrigins {
      token = nil
      exchange.cookies = nil
      count.hasCrossedOrigins = true
    }
    return next(.admission)
  }

  /// The end: what is left of a body that is taken in pieces.
  private func deliver() -> Progress {
    guard let delivery = delivery.take(), let result else { return .end }
    if options.mayReturnWhole, let whole = delivery.whole(result) {
      self.result = .success(whole)
      return .end
    }
    return wait(then: .delivery) { () async throws(ResourceError) in self.result = await delivery.finish(result) }
  }

  private func finish(_ answer: Answer) { finish(.success(response(answer))) }

  private func response(_ answer: Answer) -> ResourceResponse {
    let response = answer.response
    var timing = exchange?.timing ?? response.timing
    timing.total = fetcher.clock.monotonicNow - timer.started
    return ResourceResponse(
      status: response.status, reason: response.reason,
      url: hasCredential
        ? server.shown(answer.request.url, afterRedirect: count.redirects > 0) : answer.request.url,
      fields: response.fields,
      body: response.body,
      retryAfter: [429, 503].contains(response.status)
        ? RetryAfter.of(response.fields, at: fetcher.clock.wallNow) : nil,
      attempts: count.attempts, tokenRefreshed: count.tokenRefreshed,
      advicesSatisfied: advice?.progress.satisfied ?? [], advices: answer.advices, timing: timing)
  }

  // MARK: - Advice

  /// The event for a delegate's decision.
  private func event(_ request: HTTPRequest, _ response: HTTPResponse? = nil) -> PolicyEvent {
    PolicyEvent(request: request, response: response, task: options.task, session: userSession)
  }

  /// The session of the user whose tokens the requests carry.
  private var userSession: SessionHandle? { server.authentication == .user ? tokens?.session?.handle : nil }

  /// The advice that is satisfied by now: none of another origin, to which the request went without its token.
  private var satisfiable: AdviceRounds? { count.hasCrossedOrigins ? nil : advice }

  /// Whether a user has logged in meanwhile, whose tokens can be used.
  private func hasNewTokens() async throws(ResourceError) -> Bool {
    guard tokens == nil else { return false }
    var options = options
    if options.session == nil, server.authentication == .user { options.session = await options.advice?.newSession() }
    tokens = try await fetcher.tokenSource(options, server)
    if let session = options.session, self.options.session == nil {
      use = tokens?.session?.beginUse()
      exchange?.use(session)
    }
    advice?.session = userSession
    return tokens != nil
  }

  /// The request to retry once the answer's advices are satisfied. It is the original request, wherever redirects have
  /// led.
  private func advised(
    _ rounds: AdviceRounds, _ answer: Answer, _ original: HTTPRequest
  ) async throws(ResourceError) -> HTTPRequest {
    let advices = answer.advices
    // The user may have satisfied it for another fetch since the request was sent.
    if let token, !advices.contains(where: \.isTransaction), !count.hasTriedNewer,
      let newer = try await firstToken(for: answer.request), newer.value != token.value
    {
      count.hasTriedNewer = true
      count.attempts += 1
      return answer.request
    }
    // Another fetch may have been the user's login.
    if try await hasNewTokens() {
      count.attempts += 1
      return answer.request
    }
    try await satisfy(advices, for: answer.request, after: answer)
    count.attempts += 1
    // Doing so may have been the login.
    _ = try await hasNewTokens()
    return try await rounds.updated(event(original, answer.response), after: advices)
  }

  /// Asks the user to satisfy `advices`: those of `answer`, or, before there is a token, the issuer's.
  private func satisfy(
    _ advices: [PolicyAdvice], for request: HTTPRequest, after answer: Answer?, forToken: Bool = false
  ) async throws(ResourceError) {
    guard var rounds = advice else { return }
    let start = fetcher.clock.monotonicNow
    try await rounds.satisfy(
      advices, event(request, answer?.response), answer: answer.map(response), forToken: forToken,
      in: scope.unbounded.until(timer.adviceDeadline))
    advice = rounds
    timer.giveBack(since: start)
  }

  // MARK: - Tokens

  private func firstToken(for request: HTTPRequest) async throws(ResourceError) -> AccessToken? {
    guard let tokens else { return nil }
    return try constrained(try await token(from: tokens, replacing: nil, for: request))
  }

  /// Returns `token` if it may be sent to the resource, and throws otherwise.
  private func constrained(_ token: AccessToken) throws(ResourceError) -> AccessToken {
    guard satisfiesConstraint(token) else {
      throw ResourceError(
        server.authentication.absence,
        "the resource accepts only tokens bound to a key (dpop), and the issuer issued a bearer token",
        upstream: .init(code: "token_not_bound"), retryable: false)
    }
    return token
  }

  /// A token. Time does not pass while the fetch is paused. Where the issuer requires something of the user first, the
  /// user does it, or the fetch ends with `answer`.
  private func token(
    from tokens: TokenSource, replacing rejected: AccessToken?, for request: HTTPRequest, after answer: Answer? = nil
  ) async throws(ResourceError) -> AccessToken {
    while true {
      try await exchange?.waitUntilResumed(mayHaveHadEffect: count.hasAnswer)
      let due = timer.deadline
      do throws(ResourceError) {
        return try await tokens.token(for: server, replacing: rejected, in: scope.unbounded.until(due))
      } catch {
        if error.code == .adviceRequired, let advices = error.stop?.advices, advice?.rules.canSatisfy(advices) == true {
          try await satisfy(advices, for: request, after: answer, forToken: true)
          continue
        }
        // The fetch was paused meanwhile: it still has time.
        guard error.code == .deadlineExceeded, timer.deadline != due else { throw error }
      }
    }
  }

  /// Whether the token may be sent to a resource that requires one bound to a key.
  private func satisfiesConstraint(_ token: AccessToken) -> Bool {
    server.senderConstraint != .dpop || token.binding.key != nil
  }

  /// A newer token, or nil if the issuer provides none: then `answer` is the result. Cancellation and the deadline end
  /// the fetch.
  private func replacement(
    of rejected: AccessToken, after answer: Answer
  ) async throws(ResourceError) -> AccessToken? {
    guard let tokens else { return nil }
    do throws(ResourceError) {
      let token = try await token(from: tokens, replacing: rejected, for: answer.request, after: answer)
      return satisfiesConstraint(token) ? token : nil
    } catch {
      switch error.code {
      case .requestCancelled:
        throw ResourceError(.requestCancelled, "cancelled while a rejected token was refreshed", outcome: .replied)
      case .deadlineExceeded:
        throw ResourceError(
          .deadlineExceeded, "the deadline passed while a rejected token was refreshed", outcome: .replied,
          retryable: true)
      case .adviceRequired where error.stop?.continuation != nil, .adviceFailed: throw error
      // The resource rejected a token whose user the issuer now requires something of: its client can act on that.
      case .interactionRequired: throw error.answered
      default: return nil
      }
    }
  }
}
