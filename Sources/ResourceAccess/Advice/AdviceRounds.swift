import HTTPMessages
import OAuthClient
import PosternSupport
import Sessions

/// The advice of one fetch: finds it in responses, has it satisfied, and updates the request for the retry.
struct AdviceRounds: Sendable {
  let rules: AdviceRules
  let policy: AuthorizationPolicy
  let fetch: FetchAdvice
  /// The session that is stepped up; nil: the user has not logged in.
  var session: SessionHandle?
  let flights: AdviceFlights
  /// The `narrowing` of the fetch.
  let level: String?
  let headers: HeaderRules
  let secondURLs: SecondURLs
  /// The resource server's name, for the log.
  let resource: String
  let observer: any EngineObserver
  private(set) var progress: AdviceProgress

  init(
    rules: AdviceRules, policy: AuthorizationPolicy, fetch: FetchAdvice, session: SessionHandle?,
    flights: AdviceFlights, level: String?, headers: HeaderRules, secondURLs: SecondURLs, resource: String,
    observer: any EngineObserver
  ) {
    self.rules = rules
    self.policy = policy
    self.fetch = fetch
    self.session = session
    self.flights = flights
    self.level = level
    self.headers = headers
    self.secondURLs = secondURLs
    self.resource = resource
    self.observer = observer
    progress = fetch.progress ?? AdviceProgress()
  }

  /// The advices of the event's response.
  func advices(in event: PolicyEvent, _ scope: CallScope) async -> [PolicyAdvice] {
    let advices = await policy.evaluateAuthorizationPolicy(event)
    if advices.isEmpty, let response = event.response, policy.isForeign(response, from: event.url) {
      observer.observe(.foreignAdvice(resource: resource), in: scope)
    }
    return advices
  }

  /// Has `advices` of `event` satisfied; returns when the user has done so. Otherwise the fetch ends, with the response
  /// that had the advice. `forToken`: the issuer issues no token before.
  mutating func satisfy(
    _ advices: [PolicyAdvice], _ event: PolicyEvent, answer response: ResourceResponse?, forToken: Bool = false,
    in scope: CallScope
  ) async throws(ResourceError) {
    let isPossible = progress.begin(advices, forToken: forToken, atMost: rules.rounds)
    var response = response
    response?.advicesSatisfied = progress.satisfied
    var stop = AdviceStop(advices: advices, response: response, progress: progress)
    let reached: TransportError.Outcome = response == nil ? .notSent : .replied
    guard isPossible else {
      throw ResourceError(
        .adviceFailed, "the same advice was required again", outcome: reached, retryable: false, stop: stop)
    }
    stop.session = session
    let question = AdviceQuestion()
    switch try await outcome(stop, event, question, scope) {
    case true?: progress.end()
    case false?:
      throw ResourceError(
        .adviceFailed, "the advice was not satisfied", outcome: reached, retryable: false, stop: stop)
    case nil:
      // Keeps the continuation already handed out; the user may still be answering.
      stop.continuation = question.continuation.flatMap { fetch.extend($0) ? $0 : nil }
      if stop.continuation == nil { stop.continuation = await fetch.hold(stop) }
      throw ResourceError(
        .adviceRequired, "the user has to do something first", outcome: reached, retryable: false, stop: stop)
    }
  }

  /// Whether the advice was satisfied; nil: there was no answer.
  private func outcome(
    _ stop: AdviceStop, _ event: PolicyEvent, _ question: AdviceQuestion, _ scope: CallScope
  ) async throws(ResourceError) -> Bool? {
    guard policy.hasDelegate, fetch.delegateID != nil else { return nil }
    let name = AdviceFlights.Name(stop, level: level)
    // However many fetches ask before this one.
    let patience = Deadline(in: rules.wait, on: flights.clock)
    let isCallers = scope.deadline.instant.map { own in patience.instant.map { own <= $0 } ?? true } ?? false
    do throws(EndedWait) {
      while true {
        let answer = try await flights.answer(to: name, in: scope.until(patience)) { [policy, fetch] in
          let continuation = await fetch.hold(stop)
          question.begin(continuation)
          let isSatisfied = await policy.satisfy(stop.advices, event: event, continuation: continuation)
          if let unused = question.end(isAnswered: isSatisfied != nil) { fetch.release(unused) }
          return AdviceFlights.Answer(isSatisfied: isSatisfied, delegate: fetch.delegateID)
        }
        // No answer from another caller's delegate: this caller's delegate may still give one.
        if answer.isSatisfied != nil || answer.delegate == fetch.delegateID { return answer.isSatisfied }
      }
    } catch {
      if case .deadlineExceeded = error, !isCallers { return nil }
      if let unused = question.leave(isWanted: flights.waiterCount(for: name) > 0) { fetch.abandon(unused) }
      switch error {
      case .cancelled:
        throw ResourceError(
          .requestCancelled, "cancelled while advice was satisfied", outcome: stop.response == nil ? .notSent : .replied
        )
      case .deadlineExceeded:
        throw ResourceError(
          .deadlineExceeded, "the deadline passed while advice was satisfied",
          outcome: stop.response == nil ? .notSent : .replied, retryable: true)
      }
    }
  }

  /// The advice of the resource that was just satisfied, of a fetch that is resumed; nil when the request need not
  /// mention any.
  mutating func resume() -> [PolicyAdvice]? {
    let advices = progress.pending
    guard !advices.isEmpty else { return nil }
    progress.end()
    return progress.isForToken ? nil : advices
  }

  /// Whether gateways are to put their advice into a field, where it can be read without following redirects.
  var wantsHeader: Bool { rules.allowsAccessManager }

  /// The event's request as it is retried after `satisfied`.
  func updated(_ event: PolicyEvent, after satisfied: [PolicyAdvice]) async throws(ResourceError) -> HTTPRequest {
    var updated: HTTPRequest
    do throws(HTTPURLError) {
      updated = try await policy.updating(event, for: satisfied.lazy.compactMap(\.txId).first)
    } catch {
      throw ResourceError(.invalidURL, "the request cannot be retried: its URL \(error.phrase)", outcome: .replied)
    }
    guard headers.credential?.isNamed(inQueryOf: updated.url) != true else {
      throw ResourceError(
        .invalidURL, "the request cannot be retried: its query has the parameter of the resource's credential",
        outcome: .replied)
    }
    guard updated.fields != event.request.fields else { return updated }
    // What a delegate adds is as little its own to choose as a caller's; but by now the request has been answered once.
    do throws(ResourceError) {
      updated.fields = try headers.checked(updated.fields)
      guard !secondURLs.isNarrowed || SecondURLs.areSame(updated.fields, event.request.fields) else {
        throw ResourceError(
          .invalidHeaders, "a header that names another resource cannot be changed through an endpoint",
          path: ["headers"])
      }
      updated.fields = try secondURLs.reading(updated.fields, of: updated.url).fields
    } catch {
      throw ResourceError(
        error.code, "the request cannot be retried: \(error.detail)", path: error.path, outcome: .replied)
    }
    return updated
  }
}
