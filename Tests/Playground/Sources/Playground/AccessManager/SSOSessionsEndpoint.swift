import PosternJSON

/// `POST /am/json/…/sessions?_action=logout` and `getSessionInfo`: about the session of the cookie, or of the `tokenId`
/// in the body.
struct SSOSessionsEndpoint: Endpoint {
  let sessions: SSOSessions
  let faults: Faults
  let statistics: Statistics

  func reply(to request: Request) async throws -> Reply {
    let fault = try await faults.strike(.ssoAuthorization, only: Fault.Kind.general)
    if let reply = fault?.generalReply { return reply }
    guard let (token, session) = sessions.session(of: request) else {
      return Reply(
        status: 401, json: ["code": 401, "reason": "Unauthorized", "message": "Access Denied"])
    }
    switch request.queryParameters?["_action"] {
    case "logout":
      statistics.count(\.ssoLogouts)
      _ = sessions.end(token)
      return Reply(json: ["result": "Successfully logged out"])
    case "getSessionInfo":
      return Reply(json: [
        "username": .string(session.user.name), "universalId": .string(session.user.subject),
        "realm": .string("/\(AccessManager.realm)"),
      ])
    default:
      return Reply(status: 400, json: ["code": 400, "reason": "Bad Request", "message": "Unknown _action"])
    }
  }
}
