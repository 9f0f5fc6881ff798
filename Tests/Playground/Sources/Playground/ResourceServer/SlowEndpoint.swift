import PosternJSON
import PosternSupport

/// `/slow?ms=…`: an answer after a while, at most a minute. Ends at once when the client goes.
struct SlowEndpoint: Endpoint {
  let clock: any EngineClock

  func reply(to request: Request) async throws -> Reply {
    guard let milliseconds = request.queryParameters?.integer("ms", in: 0...Limits.delayMilliseconds) else {
      return .problem(400, "ms: 0 to \(Limits.delayMilliseconds) is expected")
    }
    try await clock.sleep(for: .milliseconds(milliseconds))
    return Reply(json: ["sleptMs": .integer(Int64(milliseconds))])
  }
}
