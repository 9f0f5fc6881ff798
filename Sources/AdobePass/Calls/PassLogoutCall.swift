import Entitlements
import HTTPMessages
import OAuthClient
import PosternJSON
import PosternSupport
import SessionRecords

/// Ends logins.
struct PassLogoutCall {
  let call: PassCall

  func logout(
    _ mvpd: String?, _ redirectURL: String?, _ options: PassOptions
  ) async throws(PassError) -> PassLogout {
    let exchange = try call.exchange(options, for: .logout)
    try call.valid { () throws(PassParameterError) in
      if let mvpd { try PassOptions.checkSegment(mvpd, ["mvpd"], maxBytes: PassCall.maxIdentifierBytes) }
      if let redirectURL { try call.provider.settings.login.check(redirectURL) }
    }
    // Whatever fails from here on, no decision of before is given out.
    call.state.logins.endDecisions(call.provider.client, exchange.device, over: call.link)
    let login = try await call.login(of: exchange.device)
    guard let mvpd = mvpd ?? login?.mvpd ?? call.provider.settings.mvpd else {
      return PassLogout(upstream: .none, logouts: [], forgotten: [], error: nil)
    }
    func forget(_ mvpd: String) async throws(PassError) -> [String] {
      let forgotten = try await call.stored { () async throws(StoreError) in
        try await call.state.logins.forget(mvpd, call.provider.client, exchange.device, over: call.link)
      }
      return forgotten.map { [$0] } ?? []
    }
    var forgotten = try await forget(mvpd)
    var request = PassRequest(endpoint: .logout, method: "GET", segments: ["logout", mvpd])
    if let redirectURL { request.query = [("redirectUrl", redirectURL)] }
    do throws(PassError) {
      let answer = try await call.answer(request, exchange, mvpd: mvpd)
      let steps = try answer.read { (answer) throws(PassError) in try self.steps(in: answer) }
      // A logout with single sign-on ends other logins, too.
      for step in steps where !step.mvpd.hasSameBytes(as: mvpd) {
        forgotten += (try? await forget(step.mvpd)) ?? []
      }
      return PassLogout(upstream: .ended, logouts: steps, forgotten: forgotten, error: nil)
    } catch {
      switch error.kind {
      case .rejected, .unreachable:
        return PassLogout(
          upstream: .failed, logouts: [], forgotten: forgotten, error: error.status ?? .networkError(error.detail))
      case .invalidParameter, .storeUnavailable, .deadlineExceeded, .cancelled: throw error
      }
    }
  }

  private func steps(in answer: PassAnswer) throws(PassError) -> [PassLogout.Step] {
    guard let map = answer.document["logouts"]?.objectValue else {
      throw .format("the answer has no logouts")
    }
    var steps: [PassLogout.Step] = []
    for member in map.members {
      let (mvpd, value) = (member.name, member.value)
      try PassReading.checkMVPD(mvpd)
      let reading = try PassReading(value, "logout")
      guard let name = try reading.identifier("actionName"), let type = try reading.identifier("actionType") else {
        throw .format("a logout does not name what is next")
      }
      let action = PassAction(name: name, type: type)
      guard PassAction.ofLogouts.contains(action) else {
        throw .format("\(action) is unknown, or no answer to this call")
      }
      let url = try reading.identifier("url", maxBytes: HTTPURL.maxBytes).map { (text) throws(PassError) in
        try call.provider.settings.openable(text)
      }
      if name == "logout", url == nil { throw .format("\(action) has no url") }
      steps.append(PassLogout.Step(mvpd: mvpd, actionName: name, actionType: type, url: url))
    }
    return steps
  }
}
