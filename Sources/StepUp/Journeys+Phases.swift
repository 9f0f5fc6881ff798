import PosternSupport
import Sessions

extension Journeys {
  /// A phase is over, with the token that the access manager gave.
  func finished(
    _ state: JourneyState, _ token: Secret<String>?, _ walk: JourneyWalk
  ) async throws(JourneyError) -> JourneyProgress {
    var state = state
    let isNewer = token != nil && token != state.token
    if let token { state.token = token }
    if case .held(_, let held)? = state.phases.first { return try await goOn(with: held, state, walk) }
    // A part of what holds an authorization up.
    guard !state.phases.contains(where: \.isHeld) else { return try await next(state, walk) }
    if state.request.session == nil {
      guard !state.request.isWithoutSession else {
        // Nobody asked for it, and nobody will have it.
        if let token { _ = await sessions.endSSO(token.reveal(), at: walk.issuer, trace: walk.trace) }
        return .over(.completed(JourneyEnd(txId: nil, session: nil, isUpgraded: false)))
      }
      guard token != nil else {
        throw JourneyError(.accessManager(status: 200, code: nil), "the access manager gave no token for a login")
      }
    }
    do throws(SessionError) {
      guard let handle = state.request.session else { return try await login(state, releasing: nil, walk) }
      if isNewer, let token {
        try await sessions.stepUp(handle, ownedBy: state.owner, at: walk.issuer, with: token, trace: walk.trace)
        state.isUpgraded = true
      } else if let advices = state.phases.first?.advices,
        // The same token: a transaction, or a login that was good enough. Nothing else is touched then.
        try await sessions.release(
          advices, of: handle, ownedBy: state.owner, at: walk.issuer, trace: walk.trace)
      {
        state.isUpgraded = true
      }
    } catch {
      // One that holds another of the session's tokens up is not this journey's.
      guard case .adviceRequired(let held) = error.kind, held.slot == .session else { throw JourneyError(error) }
      return try await hold(state, held, walk)
    }
    return try await next(state, walk)
  }

  /// The user is asked for what holds the authorization up that follows the phase.
  private func hold(
    _ state: JourneyState, _ held: HeldAuthorization, _ walk: JourneyWalk
  ) async throws(JourneyError) -> JourneyProgress {
    var state = state
    let rest = state.phases.dropFirst()
    state.txId = state.phases.first?.txId ?? state.txId
    state.phases = (JourneyPhase.phases(releasing: held) + rest)[...]
    state.position = .begin
    state.notBefore = nil
    do throws(JourneyError) {
      return try await exchange(state, .begin, walk)
    } catch {
      // The step before it has been taken.
      throw error.keepingStep(false)
    }
  }

  /// The user has done what held the authorization up.
  private func goOn(
    with held: HeldAuthorization, _ state: JourneyState, _ walk: JourneyWalk
  ) async throws(JourneyError) -> JourneyProgress {
    var state = state
    do throws(SessionError) {
      guard let handle = state.request.session else { return try await login(state, releasing: held, walk) }
      try await sessions.stepUp(
        handle, ownedBy: state.owner, at: walk.issuer, with: state.token ?? held.token, releasing: held,
        trace: walk.trace)
      state.isUpgraded = true
    } catch {
      throw JourneyError(error)
    }
    return try await next(state, walk)
  }

  /// The session of a login that is over.
  private func login(
    _ state: JourneyState, releasing held: HeldAuthorization?, _ walk: JourneyWalk
  ) async throws(SessionError) -> JourneyProgress {
    guard let token = state.token ?? held?.token else { throw SessionError(.expired, "the user has to log in again") }
    do throws(SessionError) {
      let session = try await sessions.makeFromSSO(
        token, at: walk.issuer, scope: held?.request.pending.scope, owner: state.owner, releasing: held,
        trace: walk.trace)
      return .over(
        .completed(JourneyEnd(txId: state.phases.first?.txId, session: session.handle, isUpgraded: false)))
    } catch {
      // Nobody will have it, unless it is the caller's own, or its user is asked for more.
      if !state.request.isOfGivenToken, !error.isAdvice {
        _ = await sessions.endSSO(token.reveal(), at: walk.issuer, trace: walk.trace)
      }
      throw error
    }
  }
}
