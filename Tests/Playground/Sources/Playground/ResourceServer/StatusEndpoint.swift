import NIOHTTP1
import PosternJSON

/// `/status/{n}`: an answer of that status, 200 to 599; `?challenge=bearer|basic` adds a `WWW-Authenticate` field.
struct StatusEndpoint: Endpoint {
  func reply(to request: Request) async throws -> Reply {
    guard let status = request.captures["n"].flatMap({ Int($0) }), (200...599).contains(status) else {
      return .problem(400, "a status of 200 to 599 is expected")
    }
    var reply = Reply(status: status, json: ["status": .integer(Int64(status))])
    switch request.queryParameters?["challenge"] {
    case "bearer":
      reply.headers.add(name: "www-authenticate", value: #"Bearer realm="playground", error="invalid_token""#)
    case "basic": reply.headers.add(name: "www-authenticate", value: #"Basic realm="playground""#)
    default: break
    }
    return reply
  }
}
