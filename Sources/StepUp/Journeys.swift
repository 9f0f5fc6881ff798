import AccessManagement
public import OAuthClient
public import PosternJSON
public import PosternSupport
public import Sessions

/// Walks through access managers' authentication: logins, and what policies ask of users who are logged in.
///
/// What the access manager asks goes to the caller as it came; what comes back is sent on. Between two steps a journey
/// waits under a continuation that is good once, for its peer only, whatever becomes of the connection.
public final class Journeys: Sendable {
  /// How long a continuation is good at least, where the caller does not say: as long as a transaction.
  public static let usualLife = AccessManager.usualJourneyLife
  /// How long it is good at most, whatever the access manager says.
  static let maxLife = Duration.seconds(3600)
  /// How many steps one call takes by itself.
  static let maxRounds = 64
  /// How long a wait that the access manager asks for may be.
  static let maxWait = Duration.seconds(60)
  /// How long a call that has no deadline goes on waiting for the access manager before it hands the step to its
  /// caller.
  static let patience = usualLife

  let sessions: UserSessions
  let clock: any EngineClock
  /// Journeys between their steps, by continuation. In memory: the access manager keeps its half not much longer.
  let waiting: WaitingRoom<JourneyState>

  /// Journeys for the users of `sessions`.
  public init(sessions: UserSessions) {
    self.sessions = sessions
    clock = sessions.clock
    waiting = WaitingRoom(
      .init(most: 4096, mostOfOne: 256, maxBytes: 64 << 20, maxBytesOfOne: 16 << 20), clock: sessions.clock)
  }

  /// Begins a journey for the peer `owner`, and goes as far as `answers` reach.
  ///
  /// `life` is how long each of its continuations is good; nil: as long as the access manager's own, at least three
  /// minutes.
  public func begin(
    _ request: JourneyRequest, at issuer: SessionIssuer, ownedBy owner: UInt32,
    answers: JourneyAnswers = JourneyAnswers(), life: Duration? = nil, deadline: Deadline = .never,
    trace: TraceContext? = nil
  ) async throws(JourneyError) -> JourneyOutcome {
    var request = request
    if let given = answers[JourneyAnswers.suspendedID] {
      guard let id = given.stringValue.flatMap(JourneySubmission.suspendedID) else {
        throw JourneyError(.invalid(path: "/answers/suspendedId"), "suspendedId must be a resume URI or its identifier")
      }
      request = request.resuming(id)
    }
    let state = try await state(of: request, at: issuer, ownedBy: owner, life)
    let walk = JourneyWalk(issuer: issuer, answers: answers, deadline: deadline, trace: trace)
    return try await run(state, .begin, walk)
  }

  /// Keeps a journey that is to be begun by its continuation: the access manager hears of it then.
  public func hold(
    _ request: JourneyRequest, at issuer: SessionIssuer, ownedBy owner: UInt32
  ) async throws(JourneyError) -> JourneyStep {
    try step(of: try await state(of: request, at: issuer, ownedBy: owner, nil))
  }

  private func state(
    of request: JourneyRequest, at issuer: SessionIssuer, ownedBy owner: UInt32, _ life: Duration?
  ) async throws(JourneyError) -> JourneyState {
    try Self.check(request, issuer)
    var token = request.phases.last?.heldToken
    if let handle = request.session {
      do throws(SessionError) {
        token = try await sessions.ssoToken(of: handle, ownedBy: owner, at: issuer)
      } catch {
        throw JourneyError(error)
      }
    }
    return JourneyState(request, owner: owner, issuer: issuer, token: token, life: life)
  }

  /// Goes on with a journey of `owner`: with the callbacks of its step filled in, with `answers`, or, where nothing is
  /// to be filled in, with the step as it is. `issuer` gives the configured issuer of a name.
  public func goOn(
    _ continuation: String, callbacks: [JSONValue]?, ownedBy owner: UInt32,
    issuer: (String) throws(SessionError) -> SessionIssuer, answers: JourneyAnswers = JourneyAnswers(),
    deadline: Deadline = .never, trace: TraceContext? = nil
  ) async throws(JourneyError) -> JourneyOutcome {
    guard let state = waiting.value(continuation, of: owner) else { throw .continuationUnknown }
    let submission = try JourneySubmission(for: state, callbacks: callbacks, answers: answers)
    let configured: SessionIssuer
    do throws(SessionError) {
      configured = try issuer(state.issuer)
    } catch {
      throw JourneyError(error)
    }
    // What the user types in and by what the access manager knows them goes to no other.
    guard configured.issuer.identifier == state.issuerIdentifier, configured.accessManager == state.accessManager else {
      throw JourneyError.issuerUnknown("the issuer has been configured anew since the journey began")
    }
    guard let taken = waiting.take(continuation, of: owner) else { throw .continuationUnknown }
    let walk = JourneyWalk(issuer: configured, answers: answers, deadline: deadline, trace: trace)
    do throws(JourneyError) {
      try await wait(for: taken.value, by: deadline)
    } catch {
      waiting.putBack(taken)
      throw error
    }
    return try await run(taken.value, submission, walk, from: taken)
  }

  /// The issuer's name of the journey of `owner` that waits under `continuation`; nil when there is none.
  public func issuer(of continuation: String, ownedBy owner: UInt32) -> String? {
    waiting.value(continuation, of: owner)?.issuer
  }

  /// How many journeys wait between their steps.
  public var waitingCount: Int { waiting.count }

  /// What would fail in the end fails before the user is bothered.
  private static func check(_ request: JourneyRequest, _ issuer: SessionIssuer) throws(JourneyError) {
    let isBrowsers = request.phases.contains { if case .authorization = $0 { true } else { false } }
    let isManagers = request.phases.contains { if case .authorization = $0 { false } else { true } }
    guard !isManagers || issuer.accessManager != nil else {
      throw JourneyError.grantNotSupported("the issuer is configured without an access manager")
    }
    guard !(isBrowsers || !request.isWithoutSession) || issuer.redirectURI != nil else {
      throw JourneyError.grantNotSupported("the issuer is configured without redirectUri")
    }
  }

  /// One step after the other, as long as the answers to it are known. `taken` is what was used up for the first.
  private func run(
    _ first: JourneyState, _ submission: JourneySubmission, _ walk: JourneyWalk,
    from taken: WaitingRoom<JourneyState>.Taken? = nil
  ) async throws(JourneyError) -> JourneyOutcome {
    var state = first
    var submission = submission
    var answered: Set<[String]> = [first.shape]
    let patience = walk.deadline.instant == nil ? Deadline(in: Self.patience, on: clock) : walk.deadline
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
      guard let more = walk.answers.submission(for: next, after: answered), canWait(for: next, by: patience)
      else { return try keep(next) }
      answered.insert(next.shape)
      try await wait(for: next, by: patience)
      state = next
      submission = more
    }
    return try keep(state)
  }

  /// One exchange, carried through whoever still waits: a step that the access manager has taken cannot be taken again.
  private func advanced(
    _ state: JourneyState, _ submission: JourneySubmission, _ walk: JourneyWalk
  ) async throws(JourneyError) -> JourneyProgress {
    let result: Result<JourneyProgress, JourneyError>
    // Whether the exchange has begun; false: its caller left before it could, and it never will.
    let hasBegun = Locked<Bool?>(nil)
    do throws(SessionError) {
      result = try await sessions.finish(for: state.owner, by: walk.deadline) { [self] () async throws(SessionError) in
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

  /// Keeps a journey under a continuation.
  private func step(of state: JourneyState) throws(JourneyError) -> JourneyStep {
    var state = state
    state.life = state.fixedLife ?? AuthenticationID.life(of: state.authID, at: clock.wallNow)
    let continuation = SessionHandle.random().text
    guard waiting.keep(state, as: continuation, of: state.owner, byteCount: state.byteCount, for: state.life) else {
      throw JourneyError(.overloaded(retryAfter: .seconds(10)), "too many journeys of this peer wait")
    }
    let step: AuthenticateAnswer.Step? = if case .asked(let step) = state.position { step } else { nil }
    return JourneyStep(
      continuation: continuation, callbacks: state.callbacks, stage: step?.stage, header: step?.header,
      description: step?.description, expiresAt: clock.wallNow + state.life)
  }

  private func canWait(for state: JourneyState, by deadline: Deadline) -> Bool {
    guard let instant = state.notBefore, let end = deadline.instant else { return true }
    return instant < end
  }

  /// Waits as long as the access manager asked for.
  private func wait(for state: JourneyState, by deadline: Deadline) async throws(JourneyError) {
    guard let instant = state.notBefore else { return }
    let now = clock.monotonicNow
    guard instant > now else { return }
    guard canWait(for: state, by: deadline) else {
      throw JourneyError(.deadlineExceeded, "the access manager wants to be asked later than that")
    }
    do {
      try await clock.sleep(for: instant - now)
    } catch {
      throw JourneyError(.cancelled, "cancelled while waiting for the access manager")
    }
  }
}

extension Locked<Bool?> {
  /// Sets it where nobody has; what it is then.
  fileprivate func decide(_ value: Bool) -> Bool {
    withLock { decided in
      decided = decided ?? value
      return decided ?? value
    }
  }
}
