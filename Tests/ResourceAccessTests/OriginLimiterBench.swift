import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

@testable import ResourceAccess

/// A limiter with one origin and a manual clock.
struct OriginLimiterBench {
  let clock = ManualClock()
  let observer = RecordingObserver()
  let limiter: OriginLimiter
  let key: OriginLimiter.Key

  init() throws {
    limiter = OriginLimiter(clock: clock, observer: observer)
    key = OriginLimiter.Key(resource: "r", origin: try HTTPURL("https://api.test").origin)
  }

  func enter(
    _ limits: OriginLimits, deadline: Deadline = .never, control: TransferControl? = nil,
    for peerID: PeerID = .process
  ) async throws(OriginLimiter.Rejection) -> OriginLimiter.Slot {
    let clock = clock
    let waiter = OriginLimiter.Waiter(
      deadline: {
        Deadline(instant: deadline.instant.map { $0 + (control?.pausedTime(at: clock.monotonicNow) ?? .zero) })
      }, control: control, scope: CallScope(peer: peerID))
    return try await limiter.enter(key, limits, waiter)
  }

  func leave(_ slot: OriginLimiter.Slot, _ verdict: CircuitBreaker.Verdict) {
    limiter.leave(slot, verdict, in: .process)
  }

  func waits(_ count: Int) async {
    let limiter = limiter
    #expect(await eventually { limiter.states.first?.waiting ?? 0 == count })
  }
}
