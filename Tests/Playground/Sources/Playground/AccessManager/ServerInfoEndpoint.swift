import PosternJSON

/// `GET /am/json/serverinfo/*`: what anybody may know of the server, the cookie's name among it.
struct ServerInfoEndpoint: Endpoint {
  let faults: Faults
  let statistics: Statistics

  func reply(to request: Request) async throws -> Reply {
    statistics.count(\.serverInfoRequests)
    if let reply = try await faults.strike(.serverInfo)?.generalReply { return reply }
    return Reply(json: [
      "_id": "*", "realm": "/", "cookieName": .string(SSOSessions.cookieName), "secureCookie": false,
    ])
  }
}
