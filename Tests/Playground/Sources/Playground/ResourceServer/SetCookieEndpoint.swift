import NIOHTTP1
import PosternJSON

/// `/cookies?set=LINE`: each `set` of the query becomes a `Set-Cookie` field unchanged (RFC 6265 section 4.1); the
/// body has the `Cookie` fields of the request. With `to` it is a redirection there.
struct SetCookieEndpoint: Endpoint {
  func reply(to request: Request) async throws -> Reply {
    guard let query = request.queryParameters,
      query.all.allSatisfy({ $0.value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } })
    else { return .problem(400, "a well-formed query without control characters is expected") }
    let sent: [String] = request.headers["cookie"]
    var reply = Reply(json: ["cookies": .array(sent.map { .string($0) })], headers: [("cache-control", "no-store")])
    for parameter in query.all where parameter.name == "set" {
      reply.headers.add(name: "set-cookie", value: parameter.value)
    }
    if let target = query["to"] {
      reply.status = 302
      reply.headers.add(name: "location", value: target)
    }
    return reply
  }
}
