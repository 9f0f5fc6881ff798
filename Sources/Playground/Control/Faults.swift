import JSON
import Support

/// The faults that are switched on.
final class Faults: Sendable {
  private let active = Locked<[Fault.Point: Fault]>([:])
  private let clock: any EngineClock

  /// No faults; `clock` times the slow ones.
  init(clock: any EngineClock) { self.clock = clock }

  /// Switches the fault of each named part on, or off where the value is nil.
  func set(_ changes: [Fault.Point: Fault?]) {
    active.withLock { active in
      for (point, fault) in changes { active[point] = fault }
    }
  }

  /// Switches everything off.
  func clear() { active.withLock { $0 = [:] } }

  /// What is switched on, as JSON.
  var json: JSONValue {
    let active = active.withLock { $0 }
    return .object(
      JSONObject(Fault.Point.allCases.compactMap { point in active[point].map { (point.rawValue, $0.json) } })
    )
  }

  /// Takes the fault that strikes the request at hand, if any; a slow one is waited for here and then counts as none.
  func strike(_ point: Fault.Point) async throws -> Fault? {
    let fault = active.withLock { active -> Fault? in
      guard let fault = active[point] else { return nil }
      if let times = fault.times {
        if times > 1 { active[point]?.times = times - 1 } else { active[point] = nil }
      }
      return fault
    }
    guard let fault, fault.kind == .slow else { return fault }
    try await clock.sleep(for: .milliseconds(fault.delayMilliseconds))
    return nil
  }
}

extension Fault {
  /// The answer of the kinds that are the same everywhere; nil for the others.
  var generalReply: Reply? {
    switch kind {
    case .serverError:
      Reply(status: 500, json: ["error": "server_error"])
    case .unavailable:
      Reply(
        status: 503, json: ["error": "temporarily_unavailable"],
        headers: [("retry-after", String(retryAfterSeconds))])
    case .malformedJSON:
      Reply(type: "application/json", bytes: Array(#"{"access_token":"cut off in the mid"#.utf8))
    case .html:
      Reply(type: "text/html; charset=utf-8", bytes: Array("<!doctype html><title>Proxy</title><p>Sign in\n".utf8))
    case .emptyUnauthorized:
      Reply(status: 401)
    case .slow, .refuseCredentials, .unauthorized, .wrongIssuer:
      nil
    }
  }
}
