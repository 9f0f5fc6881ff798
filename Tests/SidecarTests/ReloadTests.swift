import PosternJSON
import PosternObservability
import PosternSupport
import PosternTestSupport
import Sidecar
import Testing

@Suite("Reload and events")
struct ReloadTests {
  private static let before = #"resources: { open: { baseUrl: "https://a.test/", auth: none } }"#
  private static let after = #"resources: { open: { baseUrl: "https://b.test/", auth: none } }"#

  @Test("a valid file takes effect for new calls, the response lists what changed, and subscribers are notified")
  func good() async throws {
    let bench = try SidecarBench(Self.before)
    let listener = bench.connect()
    #expect(
      await listener.call("subscribe", ["events": ["event.configReloaded"]])["result"]?["subscribed"]
        == ["event.configReloaded"])
    let connection = bench.connect()
    bench.write(Self.after)
    let changed = await connection.call("reloadConfig")["result"]?["changed"]?.arrayValue
    #expect(changed?.contains { $0.stringValue?.hasPrefix("resources") ?? false } == true)
    let event = await listener.next()
    #expect(event?["method"] == "event.configReloaded")
    #expect(event?["params"]?["at"]?.stringValue?.hasSuffix("Z") == true)
    #expect(await connection.call("fetchResource", ["path": "x"])["result"]?["url"] == "https://b.test/x")
  }

  /// Would catch: a caller who reloads in a loop and so fills the outboxes of everybody who is subscribed; a bound that
  /// swallows the last.
  @Test("a user who reloads in a loop causes a notification each time, or the last reload is never reported")
  func bounded() async throws {
    let bench = try SidecarBench(Self.before)
    let listener = bench.connect()
    _ = await listener.call("subscribe", ["events": ["event.configReloaded"]])
    let changed = { (event: JSONValue?) in event?["params"]?["changed"]?.arrayValue?.compactMap(\.stringValue) }
    for _ in 0..<5 { #expect(try bench.service.reload() == []) }
    for _ in 0..<5 { #expect(await listener.next().map(changed) == []) }
    for _ in 0..<100 { _ = try bench.service.reload() }
    for text in [Self.after, Self.after + "\nlog: { level: debug }"] {
      bench.write(text)
      #expect(try bench.service.reload().count == 1)
    }
    // The waiting task may not have started. A call's answer comes after the notifications before it.
    #expect(await eventually { bench.clock.sleeperCount > 0 })
    #expect(await listener.call("getInfo")["result"] != nil)
    bench.clock.advance(by: .seconds(1.001))
    #expect(await listener.next().map(changed) == ["resources", "log"])
    #expect(await listener.call("getInfo")["result"] != nil)
    #expect(bench.clock.sleeperCount == 0)
  }

  @Test("a bad file changes nothing, is reported whole, and shows in health until it is mended")
  func bad() async throws {
    let bench = try SidecarBench(Self.before)
    let connection = bench.connect()
    bench.write("resources: { open: { baseUrl: 'ftp://x' } }\nlisten: { mod: '0600' }")
    let error = await connection.call("reloadConfig")["error"]
    #expect(error?["data"]?["reason"] == "configuration_invalid")
    #expect((error?["data"]?["problems"]?.arrayValue?.count ?? 0) >= 2)
    #expect(await connection.call("fetchResource", ["path": "x"])["result"]?["url"] == "https://a.test/x")
    #expect(await connection.call("health")["result"]?["status"] == "degraded")
    bench.write(Self.after)
    #expect(await connection.call("reloadConfig")["result"] != nil)
    #expect(await connection.call("health")["result"]?["status"] == "ok")
  }

  @Test("unsubscribed connections get nothing: a one-shot caller sees exactly one line")
  func silence() async throws {
    let bench = try SidecarBench(Self.before)
    let connection = bench.connect()
    _ = await connection.call("subscribe", ["events": ["event.configReloaded", "event.healthChanged"]])
    #expect(
      await connection.call("unsubscribe", ["events": ["event.configReloaded"]])["result"]?["subscribed"]
        == ["event.healthChanged"])
    bench.write(Self.after)
    #expect(await connection.call("reloadConfig")["result"] != nil)
    #expect(await connection.call("getInfo")["result"] != nil)
  }

  @Test("a reload that fails notifies the subscribers to health, and so does its repair")
  func health() async throws {
    let bench = try SidecarBench(Self.before)
    let listener = bench.connect()
    _ = await listener.call("subscribe", ["events": ["event.healthChanged"]])
    let connection = bench.connect()
    bench.write("resources: 1")
    #expect(await connection.call("reloadConfig")["error"] != nil)
    #expect(await listener.next()?["params"]?["status"] == "degraded")
    bench.write(Self.after)
    #expect(await connection.call("reloadConfig")["result"] != nil)
    #expect(await listener.next()?["params"]?["status"] == "ok")
  }

  @Test("a reload that found no file descriptor is made up for, even if there are some before its failure shows")
  func descriptors() async throws {
    let areOut = Locked(true)
    let bench = try SidecarBench(
      Self.before,
      changing: {
        $0.process.areDescriptorsOut = { areOut.withLock { $0 } }
        // They are there again as soon as the failure shows: looked up then, the reload would not be made up for.
        $0.reload.onPhase = { phase in if case .failed = phase { areOut.withLock { $0 = false } } }
      })
    let listener = bench.connect()
    _ = await listener.call("subscribe", ["events": ["event.healthChanged"]])
    bench.write("resources: 1")
    bench.service.requestReload()
    #expect(await listener.next()?["params"]?["status"] == "degraded")
    bench.write(Self.after)
    #expect(await eventually { bench.clock.remainders.contains(.seconds(1)) })
    bench.clock.advance(by: .seconds(1))
    #expect(await listener.next()?["params"]?["status"] == "ok")
  }

  @Test("a connection that opens while the sidecar drains is drained too")
  func drain() async throws {
    let bench = try SidecarBench(Self.before)
    bench.service.drain()
    #expect(await bench.connect().next() == nil)
  }
}
