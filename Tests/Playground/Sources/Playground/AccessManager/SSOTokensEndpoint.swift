import PosternJSON

/// `POST /playground/ssoTokens` signs a user on without a journey: `{"user": "alice"}` gives
/// `{tokenId, cookieName, realm}`. `DELETE` signs everybody off.
struct SSOTokensEndpoint: Endpoint {
  let sessions: SSOSessions
  let desk: LoginDesk

  func reply(to request: Request) async throws -> Reply {
    guard request.method == "POST" else {
      sessions.endAll()
      return Reply(json: .null)
    }
    let user: PlaygroundUser
    do throws(ControlBody.Problem) {
      let body = try ControlBody(request)
      try body.rejectOthers(than: ["user"])
      user = try NextLoginEndpoint.user(body)
    } catch {
      return .problem(400, error.message)
    }
    let login = NextLogins.Login(user: user, acr: nil, amr: nil, time: nil, times: nil)
    guard let token = sessions.begin(desk.session(of: login)) else { return OAuthError.full.reply }
    return Reply(
      json: [
        "tokenId": .string(token), "cookieName": .string(SSOSessions.cookieName),
        "realm": .string("/\(AccessManager.realm)"),
      ], headers: [("cache-control", "no-store")])
  }
}
