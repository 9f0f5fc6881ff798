import PosternJSON
import PosternProtocol
import PosternSupport
import PosternTestSupport
import Testing

@testable import Sidecar

@Suite("How often subscribers are told of health")
struct HealthAnnouncementTests {
  private let clock = ManualClock()

  @Test("a user whose calls succeed and fail in turn has everybody told each time, or the last word is never said")
  func bounded() {
    let announcements = HealthAnnouncements(clock: clock)
    let told = Locked<[Health.Status]>([])
    func become(_ status: Health.Status) -> Duration? {
      announcements.update {
        [.everything: status]
      } tell: { _, status in
        told.withLock { $0.append(status) }
      }
    }
    // Told at once, as long as it does not come often.
    for round in 0..<5 { #expect(become(round % 2 == 0 ? .down : .ok) == nil) }
    #expect(told.withLock { $0 } == [.down, .ok, .down, .ok, .down])
    let wait = become(.ok)
    #expect(wait.map { $0 <= .seconds(1.001) } == true)
    // One waits for all.
    for _ in 0..<1000 { #expect(become(.degraded) == nil) }
    #expect(told.withLock { $0.count } == 5)
    clock.advance(by: wait ?? .zero)
    announcements.goOn()
    #expect(become(.degraded) == nil)
    #expect(told.withLock { $0 } == [.down, .ok, .down, .ok, .down, .degraded])
    // What is again as it was told last is no news.
    #expect(become(.degraded) == nil && told.withLock { $0.count } == 6)
  }

  @Test("a service that has put something off says it in the end")
  func inTheEnd() async throws {
    let bench = try SidecarBench("{}")
    let listener = bench.connect()
    _ = await listener.call("subscribe", ["events": ["event.healthChanged"]])
    for _ in 0..<4 {
      bench.service.health.store(fault: "down")
      bench.service.publishHealthChange()
      bench.service.health.store(fault: nil)
      bench.service.publishHealthChange()
    }
    bench.service.health.store(fault: "down")
    bench.service.publishHealthChange()
    var statuses: [String] = []
    for _ in 0..<5 { statuses.append(await listener.next()?["params"]?["status"]?.stringValue ?? "") }
    #expect(statuses == ["down", "ok", "down", "ok", "down"])
    bench.service.health.store(fault: nil)
    bench.service.publishHealthChange()
    // The task that waits may not have begun to.
    while bench.clock.sleeperCount == 0 { await Task.yield() }
    bench.clock.advance(by: .seconds(2))
    #expect(await listener.next()?["params"]?["status"] == "ok")
  }
}
