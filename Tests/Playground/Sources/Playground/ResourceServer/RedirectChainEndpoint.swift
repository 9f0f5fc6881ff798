import PosternJSON

/// `/redirects/{n}`: the first of `n` redirects, each to a relative reference, with an answer at their end.
struct RedirectChainEndpoint: Endpoint {
  func reply(to request: Request) async throws -> Reply {
    guard let rest = request.captures["n"].flatMap({ Int($0) }), (0...1000).contains(rest) else {
      return .problem(400, "a number of 0 to 1000 is expected")
    }
    guard rest > 0 else { return Reply(json: ["arrived": true]) }
    return Reply(status: 302, headers: [("location", String(rest - 1))])
  }
}
