package import OAuthClient
import PosternJSON
package import PosternSupport

/// Issuers' answers about tokens, kept for as long as the issuer's configuration permits: by default not at all.
///
/// Kept is only whether the issuer reports a token as active, with the members of its answer; times, audience and
/// everything else are judged at each use. Users share no answers, as with `TokenIntrospector`'s requests. An error is
/// never kept.
package final class IntrospectionAnswers: Sendable {
  /// The whole token, never a digest, with everything that its answer depends on.
  private struct Question: Hashable, Sendable {
    let uid: UInt32
    let issuer: Issuer
    let token: Secret<String>
  }

  private struct Answer: Sendable {
    let verdict: IntrospectionVerdict
    /// When it was received.
    let since: MonotonicInstant
    /// The latest end: that of the token.
    let end: MonotonicInstant?

    /// Whether it is still kept where answers are kept for `life`: the current rule counts, not that of its request.
    func isKept(at now: MonotonicInstant, for life: Duration) -> Bool {
      since + life > now && end.map { $0 > now } ?? true
    }
  }

  private typealias Answers = FairCache<UInt32, Question, Answer>

  /// How long "not active" is kept, at most: a token may become valid.
  static let maxInactiveLife = Duration.seconds(10)
  private static let capacity = 10_000
  private static let maxWeight = 32 << 20
  /// Answers beyond this size are not kept: a few would displace all others.
  private static let maxAnswerBytes = 16 << 10
  /// Later times of an answer are as good as this one, in seconds since the epoch.
  private static let lastSecond = 1e12

  private let introspector: TokenIntrospector
  private let checker: IntrospectionChecker
  private let clock: any EngineClock
  private let active = Locked(Answers(capacity: capacity, maxWeight: maxWeight))
  /// Apart, so that no number of invented tokens displaces an answer about a real one.
  private let inactive = Locked(Answers(capacity: capacity, maxWeight: maxWeight))
  /// How often answers were removed: one that was requested before a removal is not kept behind it. Changed and
  /// compared with `active` locked.
  private let removals = Locked(0)
  private let flights: SingleFlight<Question, Answer, IntrospectionError>

  package init(introspector: TokenIntrospector, clock: any EngineClock) {
    self.introspector = introspector
    checker = IntrospectionChecker(clock: clock)
    self.clock = clock
    flights = SingleFlight(clock: clock, cancelsAbandonedRuns: true) { end in
      switch end {
      case .cancelled: .unanswered(TokenError(.cancelled, "the wait for an introspection was cancelled"))
      case .deadlineExceeded:
        .unanswered(TokenError(.deadlineExceeded, "the deadline passed while waiting for an introspection"))
      }
    }
  }

  /// The number of kept answers.
  package var count: Int { active.withLock { $0.count } + inactive.withLock { $0.count } }

  /// Forgets what is kept about the tokens of a subject, or of a login, at `issuer`.
  package func removeAnswers(of subject: String?, sid: String?, at issuer: Issuer) {
    active.withLock { answers in
      removals.withLock { $0 += 1 }
      answers.removeAll { question, answer in
        guard question.issuer.identifier == issuer.identifier, case .valid(let claims) = answer.verdict else {
          return false
        }
        let names = { (claim: String, value: String?) in value.map { claims[claim]?.stringValue == $0 } ?? false }
        return names("sub", subject) || names("sid", sid)
      }
    }
  }

  /// Returns the verdict on an opaque token, and whether it is by an answer of an earlier call. All callers of one user
  /// that come while there is no answer wait for one request.
  package func verdict(
    on token: Secret<String>, issuer: Issuer, expecting expectations: IntrospectionExpectations,
    configuration: IDTokenConfiguration, keys: any KeySource, keepingFor life: Duration,
    in scope: CallScope = CallScope()
  ) async throws(IntrospectionError) -> (verdict: IntrospectionVerdict, isCached: Bool) {
    guard life > .zero else {
      let verdict = try await introspector.verdict(
        on: token, hint: "access_token", issuer: issuer, expecting: expectations, configuration: configuration,
        keys: keys, in: scope)
      return (verdict, false)
    }
    let question = Question(uid: scope.uid, issuer: issuer, token: token)
    let (answer, isCached): (Answer, Bool)
    if let known = known(question, within: life) {
      (answer, isCached) = (known, true)
    } else {
      let introspector = introspector
      answer = try await flights.value(for: question, in: scope) {
        [self] scope async throws(IntrospectionError) in
        // Another run may have ended since this caller looked.
        if let known = known(question, within: life) { return known }
        let begun = removals.withLock { $0 }
        let verdict = try await introspector.verdict(
          on: token, hint: "access_token", issuer: issuer, expecting: IntrospectionExpectations(),
          configuration: configuration, keys: keys, in: scope)
        return keep(verdict, for: question, within: life, since: begun)
      }
      isCached = false
    }
    guard case .valid(let members) = answer.verdict else { return (answer.verdict, isCached) }
    let verdict = try checker.verdict(members: members, expecting: expectations, configuration: configuration)
    return (verdict, isCached)
  }

  private func known(_ question: Question, within life: Duration) -> Answer? {
    let now = clock.monotonicNow
    for (answers, life) in [(active, life), (inactive, min(life, Self.maxInactiveLife))] {
      guard let answer = answers.withLock({ $0[question] }) else { continue }
      if answer.isKept(at: now, for: life) { return answer }
      answers.withLock { $0.remove(question) }
    }
    return nil
  }

  /// Removes the answers about `token` at `issuer`: it was revoked here.
  package func removeAnswers(about token: Secret<String>, at issuer: Issuer) {
    active.withLock { answers in
      removals.withLock { $0 += 1 }
      answers.removeAll { question, _ in
        question.issuer.identifier == issuer.identifier && question.token == token
      }
    }
  }

  /// Keeps an answer, unless the token has ended, or answers were removed since it was requested.
  private func keep(
    _ verdict: IntrospectionVerdict, for question: Question, within life: Duration, since begun: Int
  ) -> Answer {
    let now = clock.monotonicNow
    switch verdict {
    case .valid(let members):
      // No duration has so large a number, and the conversion of one stops the process.
      let remaining = members["exp"]?.numberValue.map {
        Duration.seconds(min(max($0, -Self.lastSecond), Self.lastSecond)) - Self.sinceEpoch(clock.wallNow)
      }
      let answer = Answer(verdict: verdict, since: now, end: remaining.map { now + $0 })
      let size = JSONValue.object(members).weight(upTo: Self.maxAnswerBytes)
      guard answer.isKept(at: now, for: life), size < Self.maxAnswerBytes else { return answer }
      let weight = size + question.token.reveal().utf8.count
      active.withLock { answers in
        guard removals.withLock({ $0 }) == begun else { return }
        answers.set(answer, for: question, of: question.uid, weight: weight)
      }
      return answer
    case .invalid(let fault):
      let answer = Answer(verdict: verdict, since: now, end: nil)
      guard fault.code == .inactive else { return answer }
      inactive.withLock {
        $0.set(answer, for: question, of: question.uid, weight: question.token.reveal().utf8.count)
      }
      return answer
    }
  }

  private static func sinceEpoch(_ time: Timestamp) -> Duration { .milliseconds(time.millisecondsSinceEpoch) }
}
