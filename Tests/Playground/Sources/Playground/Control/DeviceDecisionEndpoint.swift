import PosternJSON

/// `POST /playground/device`: decides about a device as its page would. The body:
/// `{"userCode": "WDJB-MJHT", "user": "alice"}`, or `"deny": true` instead of a user.
struct DeviceDecisionEndpoint: Endpoint {
  let codes: DeviceCodes
  let desk: LoginDesk

  func reply(to request: Request) async throws -> Reply {
    do {
      let body = try ControlBody(request)
      try body.rejectOthers(than: ["userCode", "user", "deny"])
      guard let userCode = try body.string("userCode") else {
        throw ControlBody.Problem(message: "userCode: a string is expected")
      }
      if try body.bool("deny") ?? false {
        try codes.deny(userCode)
      } else {
        let login = NextLogins.Login(user: try NextLoginEndpoint.user(body))
        try codes.approve(userCode, desk.session(of: login))
      }
      return Reply(json: [:])
    } catch let error as ControlBody.Problem {
      return .problem(400, error.message)
    } catch let error as OAuthError {
      return .problem(404, error.description)
    }
  }
}
