/// `/redirect?to=…&status=…`: redirects the client to any URL, which only a development double may do. Default status
/// 302.
struct RedirectEndpoint: Endpoint {
  func reply(to request: Request) async throws -> Reply {
    guard let query = request.queryParameters, let target = query["to"],
      target.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
    else { return .problem(400, "to: a URI of visible ASCII characters is expected") }
    guard query["status"] == nil || query.integer("status", in: 300...399) != nil else {
      return .problem(400, "status: 300 to 399 is expected")
    }
    return Reply(
      status: query.integer("status", in: 300...399) ?? 302,
      type: "text/plain; charset=utf-8",
      bytes: Array("over there\n".utf8),
      headers: [("location", target)]
    )
  }
}
