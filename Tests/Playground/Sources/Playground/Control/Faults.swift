import PosternJSON
import PosternSupport

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

  /// The active faults, as JSON.
  var json: JSONValue {
    let active = active.withLock { $0 }
    return .object(
      JSONObject(Fault.Point.allCases.compactMap { point in active[point].map { (point.rawValue, $0.json) } })
    )
  }

  /// Takes the fault that strikes the current request, if any and if it is one of `kinds`; a slow one is waited for
  /// here and then counts as none.
  func strike(_ point: Fault.Point, only kinds: Set<Fault.Kind>? = nil) async throws -> Fault? {
    let fault = strikeAtOnce(point, only: kinds)
    guard let fault, fault.kind == .slow else { return fault }
    try await wait(for: fault)
    return nil
  }

  /// As `strike`, where there is nothing to wait for.
  func strikeAtOnce(_ point: Fault.Point, only kinds: Set<Fault.Kind>? = nil) -> Fault? {
    active.withLock { active -> Fault? in
      guard let fault = active[point], kinds?.contains(fault.kind) ?? true else { return nil }
      if let times = fault.times {
        if times > 1 { active[point]?.times = times - 1 } else { active[point] = nil }
      }
      return fault
    }
  }

  /// Waits for the delay of a slow fault.
  func wait(for fault: Fault) async throws {
    try await clock.sleep(for: .milliseconds(fault.delayMilliseconds))
  }
}
