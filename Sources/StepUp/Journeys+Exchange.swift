import HTTPMessages
import OAuthClient
import PosternJSON
import PosternSupport
import Sessions

extension Journeys {
  /// Sends one submission and handles the answer; where a phase is completed, starts the next.
  func exchange(
    _ state: JourneyState, _ submission: JourneySubmission, _ walk: JourneyWalk
  ) async throws(JourneyError) -> JourneyProgress {
    guard let phase = state.phases.first else { return .over(.completed(state.end)) }
    if case .authorization(let advice) = phase { return try await authorize(state, advice, submission, walk) }
    guard let manager = walk.issuer.accessManager else {
      throw JourneyError.grantNotSupported("the issuer is configured without an access manager").keepingStep()
    }
    var state = state
    let name: String
    do throws(TokenError) {
      name = try await sessions.accessManagers.cookieName(of: manager, for: walk.issuer.issuer, in: walk.scope)
    } catch {
      throw JourneyError(error).keepingStep()
    }
    let response: HTTPResponse
    do throws(TokenError) {
      let message = state.message(for: phase, submitting: submission)
      response = try await sessions.accessManagers.authenticate(
        message.body, message.query, cookie: state.cookies.field(name, state.token?.reveal()), of: manager,
        for: walk.issuer.issuer, in: walk.scope)
    } catch {
      throw JourneyError(error).keepingStep(error.outcome == .notSent)
    }
    state.cookies.take(response, except: name)
    switch try answer(response, state) {
    case .step(let step):
      try rejectEcho(of: state.token, in: response)
      state.position = .step(step)
      let wait = step.callbacks.compactMap { JourneyCallback($0)?.waitTime }.max()
      state.notBefore = wait.map { clock.monotonicNow + min($0, Self.maxWait) }
      return .waiting(state)
    case .rejected(let failure):
      try rejectEcho(of: state.token, in: response)
      forgetSuspended(by: state)
      return .over(.failed(failure))
    case .done(let tokenID):
      // Empty: the token is in a cookie that scripts cannot read.
      let isHidden = tokenID?.isEmpty == true
      let cookie = isHidden && !state.request.isWithoutSession ? JourneyCookies.token(in: response, named: name) : nil
      let token = isHidden ? cookie : tokenID
      return try await finished(state, token.map { Secret($0) }, isWithoutSession: tokenID == nil, walk)
    }
  }

  private func answer(
    _ response: HTTPResponse, _ state: JourneyState
  ) throws(JourneyError) -> AuthenticateAnswer {
    do throws(JourneyError) {
      return try AuthenticateAnswer(response)
    } catch {
      forgetSuspended(by: state)
      throw error
    }
  }

  /// Releases the paused authorization of a journey that the access manager has ended: the next caller that needs the
  /// token starts another one.
  private func forgetSuspended(by state: JourneyState) {
    guard let handle = state.request.session, let advices = state.phases.first?.advices else { return }
    sessions.stepUp.forgetSuspended(by: advices, of: handle)
  }

  /// Checks that a caller's answer does not contain the user's token.
  private func rejectEcho(of token: Secret<String>?, in response: HTTPResponse) throws(JourneyError) {
    guard let secret = token?.reveal(), !secret.isEmpty, EchoedToken.isIn(response, secret) else { return }
    throw JourneyError(
      .accessManager(status: response.status, code: nil),
      "the access manager's answer contains the single sign-on token")
  }

  /// Completes the current phase and starts the first of `phases`; nil: the one after it.
  func next(
    _ state: JourneyState, _ walk: JourneyWalk, phases: ArraySlice<JourneyPhase>? = nil
  ) async throws(JourneyError) -> JourneyProgress {
    var state = state
    state.start(phases ?? state.phases.dropFirst())
    do throws(JourneyError) {
      return try await exchange(state, .begin, walk)
    } catch {
      // The step before it has been accepted.
      throw error.keepingStep(false)
    }
  }
}
