import AuthEngine
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

@testable import ResourceAccess

/// A gate with one origin, whose clock stands still.
struct OriginGateBench {
  let clock = ManualClock()
  let observer = RecordingObserver()
  let gate: OriginGate
  let key: OriginGate.Key

  init() throws {
    gate = OriginGate(clock: clock, observer: observer)
    key = OriginGate.Key(resource: "r", origin: try HTTPURL("https://api.test").origin)
  }

  func enter(
    _ limits: OriginLimits, deadline: Deadline = .never, control: TransferControl? = nil,
    for requester: Requester = .process
  ) async throws(OriginGate.Refusal) -> OriginGate.Place {
    let clock = clock
    let visitor = OriginGate.Visitor(
      deadline: {
        Deadline(instant: deadline.instant.map { $0 + (control?.heldTime(at: clock.monotonicNow) ?? .zero) })
      }, control: control, requester: requester)
    return try await gate.enter(key, limits, visitor)
  }

  func waits(_ count: Int) async {
    let gate = gate
    #expect(await eventually { gate.states.first?.waiting ?? 0 == count })
  }
}
