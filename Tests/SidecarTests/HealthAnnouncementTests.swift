import PosternJSON
import PosternProtocol
import PosternSupport
import PosternTestSupport
import Testing

@testable import PosternObservability
@testable import Sidecar

@Suite("Rate of health notifications")
struct HealthAnnouncementTests {
  private let clock = ManualClock()

  @Test("calls that succeed and fail in alternation cause a notification each, or the last status is never sent")
  func bounded() {
    let announcements = HealthAnnouncements(clock: clock)
    let sent = Locked<[Health.Status]>([])
    func become(_ status: Health.Status) -> Duration? {
      announcements.update {
        [.everything: status]
      } tell: { _, status in
        sent.withLock { $0.append(status) }
      }
    }
    // Sent at once while changes are rare.
    for round in 0..<5 { #expect(become(round % 2 == 0 ? .down : .ok) == nil) }
    #expect(sent.withLock { $0 } == [.down, .ok, .down, .ok, .down])
    let wait = become(.ok)
    #expect(wait.map { $0 <= .seconds(1.001) } == true)
    // One waits for all.
    for _ in 0..<1000 { #expect(become(.degraded) == nil) }
    #expect(sent.withLock { $0.count } == 5)
    clock.advance(by: wait ?? .zero)
    announcements.resume()
    #expect(become(.degraded) == nil)
    #expect(sent.withLock { $0 } == [.down, .ok, .down, .ok, .down, .degraded])
    // A status equal to the last one that was sent is no change.
    #expect(become(.degraded) == nil && sent.withLock { $0.count } == 6)
  }

  @Test("a service that has delayed a notification sends it in the end")
  func inTheEnd() async throws {
    let bench = try SidecarBench("{}")
    let listener = bench.connect()
    _ = await listener.call("subscribe", ["events": ["event.healthChanged"]])
    for _ in 0..<4 {
      bench.service.health.monitor.store(fault: "down")
      bench.service.health.publishChange()
      bench.service.health.monitor.store(fault: nil)
      bench.service.health.publishChange()
    }
    bench.service.health.monitor.store(fault: "down")
    bench.service.health.publishChange()
    var statuses: [String] = []
    for _ in 0..<5 { statuses.append(await listener.next()?["params"]?["status"]?.stringValue ?? "") }
    #expect(statuses == ["down", "ok", "down", "ok", "down"])
    bench.service.health.monitor.store(fault: nil)
    bench.service.health.publishChange()
    // The task that waits may not have begun to.
    while bench.clock.sleeperCount == 0 { await Task.yield() }
    bench.clock.advance(by: .seconds(2))
    #expect(await listener.next()?["params"]?["status"] == "ok")
  }
}
