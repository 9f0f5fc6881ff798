public import OAuthClient
public import PosternJSON
public import PosternSupport
public import Sessions

/// Carries out access managers' journeys: logins, and the authentications that policies require of users who are logged
/// in.
///
/// The access manager's callbacks are passed to the caller unchanged; the answers are sent on. Between two steps a
/// journey waits under a continuation that is valid once, for its peer only, whatever happens to the connection.
public final class Journeys: Sendable {
  /// The shortest lifetime of a continuation, where the caller gives none: that of a transaction.
  public static let usualLife = AccessManager.usualJourneyLife
  /// The longest lifetime, whatever the access manager's.
  static let maxLife = Duration.seconds(3600)
  /// The maximum number of steps that one call takes by itself.
  static let maxRounds = 64
  /// The longest wait that the access manager can request.
  static let maxWait = Duration.seconds(60)
  /// The time for which a call without a deadline waits for the access manager before it passes the step to its caller.
  static let patience = usualLife

  let sessions: UserSessions
  let clock: any EngineClock
  /// Journeys between their steps, by continuation. In memory: the access manager keeps its part not much longer.
  let waiting: ExpiringStore<JourneyState>
  /// The bounds of `waiting`. A session has as many as a page with many parts may begin at once.
  private static let limits = ExpiringStore<JourneyState>.Limits(
    capacity: 16_384, capacityPerUID: 4096, capacityPerHolder: 32, maxBytes: 64 << 20, maxBytesPerUID: 16 << 20)

  /// Journeys for the users of `sessions`.
  public init(sessions: UserSessions) {
    self.sessions = sessions
    clock = sessions.clock
    waiting = ExpiringStore(Self.limits, clock: sessions.clock)
  }

  /// Starts a journey of the caller, and continues it as far as `answers` reach. `life` is the lifetime of each of
  /// its continuations; nil: the access manager's own, at least three minutes.
  public func begin(
    _ request: JourneyRequest, at issuer: SessionIssuer,
    answers: JourneyAnswers = JourneyAnswers(), life: Duration? = nil, in scope: CallScope
  ) async throws(JourneyError) -> JourneyOutcome {
    var request = request
    if let given = answers[JourneyAnswers.suspendedID] {
      guard let id = given.stringValue.flatMap(JourneySubmission.suspendedID) else {
        throw JourneyError(
          .invalid(path: ["answers", "suspendedId"]), "suspendedId must be a resume URI or its identifier")
      }
      request = request.resuming(id)
    }
    let state = try await state(of: request, at: issuer, life, in: scope)
    let walk = JourneyWalk(issuer: issuer, answers: answers, scope: scope)
    return try await run(state, .begin, walk)
  }

  /// Stores a journey that is started by its continuation: the access manager gets its first request then.
  public func hold(
    _ request: JourneyRequest, at issuer: SessionIssuer, in scope: CallScope
  ) async throws(JourneyError) -> JourneyStep {
    try step(of: try await state(of: request, at: issuer, nil, in: scope))
  }

  private func state(
    of request: JourneyRequest, at issuer: SessionIssuer, _ life: Duration?, in scope: CallScope
  ) async throws(JourneyError) -> JourneyState {
    try request.check(at: issuer)
    var token = request.phases.last?.releasedToken
    if let handle = request.session {
      do throws(SessionError) {
        token = try await sessions.stepUp.ssoToken(of: handle, at: issuer, in: scope)
      } catch {
        throw JourneyError(error)
      }
    }
    return JourneyState(request, uid: scope.uid, issuer: issuer, token: token, life: life)
  }

  /// Continues a journey of the caller: with the callbacks of its step filled in, with `answers`, or, where nothing is to
  /// be filled in, with the step unchanged. `issuer` gives the configured issuer of a name.
  public func resume(
    _ continuation: String, callbacks: [JSONValue]?,
    issuer: (String) throws(SessionError) -> SessionIssuer, answers: JourneyAnswers = JourneyAnswers(),
    in scope: CallScope
  ) async throws(JourneyError) -> JourneyOutcome {
    guard let state = waiting.value(continuation, of: scope.uid) else { throw .continuationUnknown }
    let submission = try JourneySubmission(for: state, callbacks: callbacks, answers: answers)
    let configured: SessionIssuer
    do throws(SessionError) {
      configured = try issuer(state.servers.issuerName)
    } catch {
      throw JourneyError(error)
    }
    guard state.servers.areThose(of: configured) else {
      throw JourneyError.issuerUnknown("the issuer has been reconfigured since the journey started")
    }
    guard let taken = waiting.take(continuation, of: scope.uid) else { throw .continuationUnknown }
    let walk = JourneyWalk(issuer: configured, answers: answers.later, scope: scope)
    do throws(JourneyError) {
      try await taken.value.wait(until: scope.deadline, on: clock)
    } catch {
      waiting.putBack(taken)
      throw error
    }
    return try await run(taken.value, submission, walk, from: taken)
  }

  /// Returns the issuer's name of the journey of `uid` that waits under `continuation`; nil when there is none.
  public func issuer(of continuation: String, ownedBy uid: UInt32) -> String? {
    waiting.value(continuation, of: uid)?.servers.issuerName
  }

  /// Returns the levels through which the journey of `uid` was begun that waits under `continuation`; nil when there is
  /// none.
  package func path(of continuation: String, ownedBy uid: UInt32) -> [String]? {
    waiting.value(continuation, of: uid)?.request.origin.path
  }

  /// The number of journeys between their steps.
  public var waitingCount: Int { waiting.count }

  /// Takes one step after the other, as long as the answers are known. `taken` is the continuation that was used for
  /// the first.
  private func run(
    _ first: JourneyState, _ submission: JourneySubmission, _ walk: JourneyWalk,
    from taken: ExpiringStore<JourneyState>.Taken? = nil
  ) async throws(JourneyError) -> JourneyOutcome {
    var state = first
    var submission = submission
    var answered: Set<[String]> = [first.shape]
    let patience = walk.scope.deadline.instant == nil ? Deadline(in: Self.patience, on: clock) : walk.scope.deadline
    for round in 0..<Self.maxRounds {
      let progress: JourneyProgress
      do throws(JourneyError) {
        progress = try await advanced(state, submission, walk)
      } catch {
        // Nothing has been sent, so nothing has been used up.
        if round == 0, let taken, error.keepsStep { waiting.putBack(taken) }
        throw error
      }
      guard case .waiting(let next) = progress else {
        guard case .over(let outcome) = progress else { break }
        return outcome
      }
      guard let more = walk.answers.submission(for: next, after: answered), next.canWait(until: patience)
      else { return try keep(next) }
      answered.insert(next.shape)
      try await next.wait(until: patience, on: clock)
      state = next
      submission = more
    }
    return try keep(state)
  }

  /// Makes one request, which runs to its end even if its caller leaves: the user cannot answer a step twice that the
  /// access manager has accepted.
  private func advanced(
    _ state: JourneyState, _ submission: JourneySubmission, _ walk: JourneyWalk
  ) async throws(JourneyError) -> JourneyProgress {
    let result: Result<JourneyProgress, JourneyError>
    // Whether the request has started; false: its caller left before, and it never will.
    let hasBegun = Locked<Bool?>(nil)
    do throws(SessionError) {
      result = try await sessions.tasks.finish(.login, at: walk.issuer.issuer.name, in: walk.scope) {
        [self] scope async throws(SessionError) in
        var walk = walk
        walk.scope = scope
        guard hasBegun.decide(true) else { return .failure(JourneyError(.cancelled, "cancelled")) }
        do throws(JourneyError) {
          return .success(try await exchange(state, submission, walk))
        } catch {
          return .failure(error)
        }
      }
    } catch {
      throw JourneyError(error).keepingStep(!hasBegun.decide(false))
    }
    return try result.get()
  }

  private func keep(_ state: JourneyState) throws(JourneyError) -> JourneyOutcome { .callbacks(try step(of: state)) }

  /// Stores a journey under a continuation.
  private func step(of state: JourneyState) throws(JourneyError) -> JourneyStep {
    let life = state.fixedLife ?? AuthenticationID.life(of: state.authID, at: clock.wallNow)
    let continuation = SessionHandle.random().text
    let isKept = waiting.keep(
      state, as: continuation, of: state.uid, holder: state.request.session?.text, path: state.request.origin.path,
      byteCount: state.byteCount,
      for: life)
    guard isKept else {
      throw JourneyError(.overloaded(retryAfter: .seconds(10)), "too many journeys of this peer wait")
    }
    let step: AuthenticateAnswer.Step? = if case .step(let step) = state.position { step } else { nil }
    return JourneyStep(
      continuation: continuation, callbacks: state.callbacks, stage: step?.stage, header: step?.header,
      description: step?.description, expiresAt: clock.wallNow + life)
  }
}

extension Locked<Bool?> {
  /// Sets the value where there is none; returns the current one.
  fileprivate func decide(_ value: Bool) -> Bool {
    withLock { decided in
      decided = decided ?? value
      return decided ?? value
    }
  }
}

extension Journeys: ConciseStringConvertible {
  /// How many wait for their user.
  public var description: String { Concise.count(waitingCount, "waiting journey") }
}
