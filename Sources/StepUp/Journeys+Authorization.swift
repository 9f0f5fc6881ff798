import OAuthClient
import Sessions

extension Journeys {
  /// A phase in the user's browser: an authorization with the requirements of RFC 9470, as a step with a redirect.
  func authorize(
    _ state: JourneyState, _ advice: PolicyAdvice, _ submission: JourneySubmission, _ walk: JourneyWalk
  ) async throws(JourneyError) -> JourneyProgress {
    guard let handle = state.request.session else { throw JourneyError(.adviceNotRecognised, "no session to step up") }
    var state = state
    do throws(SessionError) {
      if case .authorized(let callback) = submission {
        try await sessions.stepUp.completeInBrowser(
          of: handle, at: walk.issuer, callback: callback, in: walk.scope)
        state.end.isUpgraded = true
      } else {
        let begun = try await sessions.stepUp.beginInBrowser(
          of: handle, at: walk.issuer, acrValues: advice.acrValues ?? [], maxAge: advice.maxAge,
          in: walk.scope)
        state.position = .authorizing([JourneyCallback.redirect(to: begun.url)])
        return .waiting(state)
      }
    } catch {
      switch error.kind {
      case .invalid:
        throw JourneyError(.invalid(path: ["callbacks", .position(0), "input", .position(0), "value"]), error.detail)
          .keepingStep()
      // The code, where there is one, has not been used up.
      case .stateUnknown, .unreachable: throw JourneyError(error).keepingStep()
      default: throw JourneyError(error)
      }
    }
    return try await next(state, walk)
  }
}
