/// `/bytes/{n}`: a body of that many bytes, byte `i` being `i mod 251`; `?chunked=true` leaves its length out.
struct BytesEndpoint: Endpoint {
  func reply(to request: Request) async throws -> Reply {
    guard let length = request.captures["n"].flatMap({ Int($0) }), (0...Limits.patternBytes).contains(length) else {
      return .problem(400, "a length of 0 to \(Limits.patternBytes) is expected")
    }
    var reply = Reply(type: "application/octet-stream")
    reply.body = .pattern(length: length, chunked: request.queryParameters?["chunked"] == "true")
    return reply
  }
}
