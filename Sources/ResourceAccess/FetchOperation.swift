import HTTPMessages
import OAuthClient
import PosternSupport
import Sessions

/// One fetch from its first token to its last response: redirects, advice, and one retry with a newer token.
///
/// A class, as `ResourceExchange` is, used by the fetch's task alone: values would be copied into each step's frame.
final class FetchOperation {
  /// How far the fetch has come.
  private struct Progress {
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

  /// A response, and the request that it answers.
  private struct Answer {
    let request: HTTPRequest
    let response: HTTPResponse
    var advices: [PolicyAdvice] = []
  }

  /// Nil: the requests carry no token.
  private var tokens: TokenSource?
  /// Finds the tokens of a user who has logged in meanwhile.
  private let findTokens: @Sendable () async throws(ResourceError) -> TokenSource?
  private let task: NetworkTask?
  private let followsRedirects: Bool
  private let scope: CallScope
  private let exchange: ResourceExchange
  private var advice: AdviceRounds?
  private var timer: FetchTimer
  private var progress = Progress()

  init(
    _ exchange: ResourceExchange, tokens: TokenSource?, fetch: FetchOptions, timer: FetchTimer, advice: AdviceRounds?,
    findTokens: @escaping @Sendable () async throws(ResourceError) -> TokenSource?
  ) {
    self.exchange = exchange
    self.tokens = tokens
    self.findTokens = findTokens
    task = fetch.task
    followsRedirects = fetch.followsRedirects
    scope = fetch.scope
    self.timer = timer
    self.advice = advice
  }

  /// Carries `original` out.
  func run(_ original: HTTPRequest) async throws(ResourceError) -> ResourceResponse {
    var request = try await resumed(original)
    // Once a redirect has crossed origins the following requests have no token, no credential and no cookies: the way
    // back may be the other origin's idea.
    var token = try await firstToken(for: request)
    while true {
      let response = try await exchange.send(
        ResourceExchange.Attempt(
          request: request, token: token, timer: timer, followsRedirect: progress.redirects > 0,
          wantsAdvice: satisfiable?.wantsHeader == true, hasCredential: hasCredential))
      let answer = await answer(response, to: request)
      // Advice before a newer token: this token may be as good as the user's login permits.
      if let retry = try await retry(after: answer, with: token, original) {
        (request, token) = retry
        continue
      }
      if let rejected = token, !progress.tokenRefreshed,
        await exchange.policy.requiresRefresh(event(request, response), of: rejected)
      {
        guard let newer = try await replacement(of: rejected, after: answer) else { return result(answer) }
        exchange.observer.observe(.tokenRejected(resource: exchange.server.name), in: scope)
        progress.tokenRefreshed = true
        // With a body that can be read once only the next call has the newer token.
        guard exchange.canRetry(request) else { return result(answer) }
        token = newer
        progress.attempts += 1
        continue
      }
      guard followsRedirects,
        let step = RedirectRules.next(
          after: request, response.status, to: exchange.locations, within: exchange.server),
        exchange.canRetry(step.request)
      else {
        return result(answer)
      }
      progress.redirects += 1
      guard progress.redirects <= RedirectRules.limit else {
        throw ResourceError(
          .protocolError, "more than \(RedirectRules.limit) redirects", outcome: .replied,
          upstream: .init(status: response.status), retryable: false)
      }
      request = step.request
      if step.crossesOrigins {
        token = nil
        exchange.cookies = nil
        progress.hasCrossedOrigins = true
      }
    }
  }

  /// Whether requests carry the resource's own credential now.
  private var hasCredential: Bool {
    exchange.server.authentication == .credential && !progress.hasCrossedOrigins
  }

  // MARK: - Advice

  /// The first request of a fetch that is resumed after advice.
  private func resumed(_ original: HTTPRequest) async throws(ResourceError) -> HTTPRequest {
    guard var rounds = advice else { return original }
    defer { advice = rounds }
    guard let satisfied = rounds.resume() else { return original }
    return try await rounds.updated(event(original), after: satisfied)
  }

  /// The event for a delegate's decision.
  private func event(_ request: HTTPRequest, _ response: HTTPResponse? = nil) -> PolicyEvent {
    PolicyEvent(request: request, response: response, task: task, session: userSession)
  }

  /// The session of the user whose tokens the requests carry.
  private var userSession: SessionHandle? {
    exchange.server.authentication == .user ? tokens?.session?.handle : nil
  }

  /// The advice that is satisfied by now: none of another origin, to which the request went without its token.
  private var satisfiable: AdviceRounds? { progress.hasCrossedOrigins ? nil : advice }

  /// The answer to `request` with its advices: as the fetch's policy finds them, else by the resource server's rules.
  private func answer(_ response: HTTPResponse, to request: HTTPRequest) async -> Answer {
    var answer = Answer(request: request, response: response)
    if let satisfiable {
      answer.advices = await satisfiable.advices(in: event(request, response), scope)
    } else if let rules = advice?.rules ?? exchange.server.advice {
      answer.advices = rules.recognizer.finding(in: response, from: request.url)?.advices ?? []
    }
    return answer
  }

  /// The retry once the answer's advices are satisfied, with its token; nil when there is none. An error behind a
  /// success is not that of a request without effect.
  private func retry(
    after answer: Answer, with token: AccessToken?, _ original: HTTPRequest
  ) async throws(ResourceError) -> (HTTPRequest, AccessToken?)? {
    do throws(ResourceError) {
      guard let next = try await advised(answer, with: token, original) else { return nil }
      return (next, try await firstToken(for: next))
    } catch {
      throw answer.response.status < 300 ? error.answered : error
    }
  }

  /// Whether there are tokens of a user who has logged in meanwhile.
  private func hasNewTokens() async throws(ResourceError) -> Bool {
    guard tokens == nil else { return false }
    tokens = try await findTokens()
    advice?.session = userSession
    return tokens != nil
  }

  /// The request to retry once the answer's advices are satisfied; nil when it has none, or that is not possible. It is
  /// the original request, wherever redirects have led.
  private func advised(
    _ answer: Answer, with token: AccessToken?, _ original: HTTPRequest
  ) async throws(ResourceError) -> HTTPRequest? {
    let advices = answer.advices
    guard let rounds = satisfiable, rounds.rules.canSatisfy(advices), exchange.canRetry(original) else { return nil }
    // The user may have satisfied it for another fetch since the request was sent.
    if let token, !advices.contains(where: \.isTransaction), !progress.hasTriedNewer,
      let newer = try await firstToken(for: answer.request), newer.value != token.value
    {
      progress.hasTriedNewer = true
      progress.attempts += 1
      return answer.request
    }
    // Another fetch may have been the user's login.
    if try await hasNewTokens() {
      progress.attempts += 1
      return answer.request
    }
    try await satisfy(advices, for: answer.request, after: answer)
    progress.attempts += 1
    // Doing so may have been the login.
    _ = try await hasNewTokens()
    return try await rounds.updated(event(original, answer.response), after: advices)
  }

  /// Has `advices` satisfied by the user: those of `answer`, or the issuer's, before there is a token.
  private func satisfy(
    _ advices: [PolicyAdvice], for request: HTTPRequest, after answer: Answer?, forToken: Bool = false
  ) async throws(ResourceError) {
    guard var rounds = advice else { return }
    let start = exchange.clock.monotonicNow
    try await rounds.satisfy(
      advices, event(request, answer?.response), answer: answer.map(result), forToken: forToken,
      in: scope.unbounded.until(timer.adviceDeadline))
    advice = rounds
    timer.giveBack(since: start)
  }

  // MARK: - Tokens

  private func firstToken(for request: HTTPRequest) async throws(ResourceError) -> AccessToken? {
    guard let tokens else { return nil }
    let token = try await token(from: tokens, replacing: nil, for: request)
    guard satisfiesConstraint(token) else {
      throw ResourceError(
        exchange.server.authentication.absence,
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
      try await exchange.waitUntilResumed(mayHaveHadEffect: progress.hasAnswer)
      let due = timer.deadline
      do throws(ResourceError) {
        return try await tokens.token(for: exchange.server, replacing: rejected, in: scope.unbounded.until(due))
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
    exchange.server.senderConstraint != .dpop || token.binding.key != nil
  }

  /// A newer token; nil when there is none, so that `answer` is the result. Cancellation and the deadline end the
  /// fetch.
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

  private func result(_ answer: Answer) -> ResourceResponse {
    let response = answer.response
    var timing = exchange.timing
    timing.total = exchange.clock.monotonicNow - timer.started
    return ResourceResponse(
      status: response.status, reason: response.reason,
      url: hasCredential
        ? exchange.server.shown(answer.request.url, afterRedirect: progress.redirects > 0) : answer.request.url,
      fields: response.fields,
      body: response.body,
      retryAfter: [429, 503].contains(response.status)
        ? RetryAfter.of(response.fields, at: exchange.clock.wallNow) : nil,
      attempts: progress.attempts, tokenRefreshed: progress.tokenRefreshed,
      advicesSatisfied: advice?.progress.satisfied ?? [], advices: answer.advices, timing: timing)
  }
}
