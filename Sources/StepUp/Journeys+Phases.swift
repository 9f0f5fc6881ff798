import PosternSupport
import Sessions

extension Journeys {
  /// Handles a completed phase, with the access manager's token. `isWithoutSession`: it was of a tree that ends without
  /// one, whatever was requested.
  func finished(
    _ state: JourneyState, _ token: Secret<String>?, isWithoutSession: Bool, _ walk: JourneyWalk
  ) async throws(JourneyError) -> JourneyProgress {
    var state = state
    let isNewer = token != nil && token != state.token
    if let token { state.token = token }
    if case .releasing(_, let authorization)? = state.phases.first {
      return try await resume(with: authorization, state, walk)
    }
    // A requirement of a paused authorization.
    guard !state.phases.contains(where: \.isReleasing) else { return try await next(state, walk) }
    if state.request.session == nil {
      guard !state.request.isWithoutSession else {
        // The token was not requested and is not used.
        if let token { _ = await sessions.singleSignOn.end(token.reveal(), at: walk.issuer, in: walk.scope) }
        return .over(.completed(JourneyEnd(txId: nil, session: nil, isUpgraded: false)))
      }
      if isWithoutSession, state.token == nil {
        guard state.phases.count <= 1 else { return try await next(state, walk) }
        return .over(.completed(JourneyEnd(txId: state.phases.first?.txId, session: nil, isUpgraded: false)))
      }
      guard state.token != nil else {
        throw JourneyError(.accessManager(status: 200, code: nil), "the access manager gave no token for a login")
      }
    }
    do throws(SessionError) {
      guard let handle = state.request.session else { return try await login(state, releasing: nil, walk) }
      if isNewer, let token {
        try await sessions.stepUp.replaceLogin(
          handle, at: walk.issuer, with: token, in: walk.scope)
        state.end.isUpgraded = true
      } else if let advices = state.phases.first?.advices,
        // The same token: a transaction, or a login that was sufficient. Nothing else changes then.
        try await sessions.stepUp.release(
          advices, of: handle, at: walk.issuer, in: walk.scope)
      {
        state.end.isUpgraded = true
      }
    } catch {
      // An authorization for another token of the session is not this journey's.
      guard case .adviceRequired(let authorization) = error.kind, authorization.slot == .session else {
        throw JourneyError(error)
      }
      // The user has to meet its requirements first.
      let required = JourneyPhase.phases(releasing: authorization)
      return try await next(state, walk, phases: (required + state.phases.dropFirst())[...])
    }
    return try await next(state, walk)
  }

  /// Continues the authorization whose requirements the user has met.
  private func resume(
    with authorization: SuspendedAuthorization, _ state: JourneyState, _ walk: JourneyWalk
  ) async throws(JourneyError) -> JourneyProgress {
    var state = state
    do throws(SessionError) {
      guard let handle = state.request.session else { return try await login(state, releasing: authorization, walk) }
      try await sessions.stepUp.replaceLogin(
        handle, at: walk.issuer, with: state.token ?? authorization.token, releasing: authorization,
        in: walk.scope)
      state.end.isUpgraded = true
    } catch {
      throw JourneyError(error)
    }
    return try await next(state, walk)
  }

  /// Makes the session of a completed login.
  private func login(
    _ state: JourneyState, releasing authorization: SuspendedAuthorization?, _ walk: JourneyWalk
  ) async throws(SessionError) -> JourneyProgress {
    guard let token = state.token ?? authorization?.token else {
      throw SessionError(.expired, "the user has to log in again")
    }
    do throws(SessionError) {
      let session = try await sessions.singleSignOn.create(
        from: token, at: walk.issuer, scope: authorization?.pending.scope, state.request.origin,
        releasing: authorization, in: walk.scope)
      return .over(
        .completed(JourneyEnd(txId: state.phases.first?.txId, session: session.handle, isUpgraded: false)))
    } catch {
      // The token is not used any more, unless it is the caller's own, or its user has to answer more.
      if !state.request.isOfGivenToken, !error.isAdvice {
        _ = await sessions.singleSignOn.end(token.reveal(), at: walk.issuer, in: walk.scope)
      }
      throw error
    }
  }
}
