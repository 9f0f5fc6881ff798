import AuthEngine
import HTTPMessages
import PosternJSON
import PosternProtocol
import PosternSupport
import PosternTestSupport
import Testing

@testable import PosternObservability
@testable import Sidecar

/// The health report; and that the watch makes a sidecar ready without a call.
@Suite("Health", .timeLimit(.minutes(1)))
struct HealthTests {
  private static let two = """
    issuers:
      one: { issuer: "https://one.test", clientId: c, clientAuth: none, endpoints: { jwks: "https://one.test/keys" } }
      two: { issuer: "https://two.test", clientId: c, clientAuth: none, endpoints: { jwks: "https://two.test/keys" } }
    """
  private static let keys =
    #"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#

  private static let fields = HTTPFields([
    .init(name: "Cache-Control", value: "max-age=60"), .init(name: "Content-Type", value: "application/json"),
  ])

  private static func status(_ bench: SidecarBench) -> String { bench.service.health.report().status.rawValue }

  private static func check(_ bench: SidecarBench, _ name: String) -> String? {
    bench.service.health.report().checks[name]?.status.rawValue
  }

  /// Issuers that answer while their names are in `up`.
  private static func bench(_ yaml: String, up: Locked<Set<String>>) throws -> SidecarBench {
    try SidecarBench(yaml) { request, _ async throws(TransportError) in
      guard up.withLock({ $0.contains(request.url.origin.host) }) else {
        throw TransportError(code: .serverUnreachable, outcome: .notSent, detail: "down")
      }
      return HTTPResponse(
        status: 200, fields: Self.fields, body: Array(keys.utf8))
    }
  }

  @Test("each reported change makes the next one more expensive, until reporting overflows the stack")
  func manyNews() {
    let changes = HealthSignal()
    let reported = Locked(0)
    changes.onChange { reported.withLock { $0 += 1 } }
    for _ in 0..<50_000 { changes.signal() }
    #expect(reported.withLock { $0 } == 50_000)
  }

  @Test("checks in an order that changes from start to start: answers could not be compared")
  func order() throws {
    let names = (0..<40).map { "issuer.\($0)" }
    let checks = Dictionary(uniqueKeysWithValues: names.map { ($0, Health.Check(status: .ok)) })
    let json = try JSONValueEncoder().encode(Health.Result(status: .ok, checks: checks))
    #expect(json["checks"]?.objectValue?.members.map(\.name) == names.sorted())
    #expect(try JSONValueEncoder().encode(Health.Result(status: .ok, checks: [:]))["checks"] == .object([:]))
  }

  @Test(
    "down until one issuer has sent its keys, degraded until all have, then ok; subscribers get each change")
  func becomingReady() async throws {
    let up = Locked<Set<String>>([])
    let bench = try Self.bench(Self.two, up: up)
    let listener = bench.connect()
    _ = await listener.call("subscribe", ["events": ["event.healthChanged"]])
    bench.service.prepareWatch()
    #expect(Self.status(bench) == "down" && Self.check(bench, "issuer.one.keys") == "down")
    let watch = Task { await bench.service.watch() }
    defer { watch.cancel() }
    #expect(await listener.next()?["params"]?["status"] == "down")
    up.withLock { _ = $0.insert("one.test") }
    let clock = bench.clock
    #expect(await Self.passes(clock) { Self.status(bench) == "degraded" })
    #expect(Self.check(bench, "issuer.one.keys") == "ok" && Self.check(bench, "issuer.two.keys") == "down")
    #expect(await listener.next()?["params"]?["status"] == "degraded")
    up.withLock { _ = $0.insert("two.test") }
    #expect(await Self.passes(clock) { Self.status(bench) == "ok" })
    #expect(await listener.next()?["params"]?["status"] == "ok")
    #expect(await eventually { Self.check(bench, "store") == "ok" })
  }

  @Test("a call at the start returns the current health, not the initial one, and waits a second at most")
  func asking() async throws {
    let up = Locked<Set<String>>(["one.test", "two.test"])
    let bench = try Self.bench(Self.two, up: up)
    bench.service.prepareWatch()
    let connection = bench.connect()
    let answer = Locked<String?>(nil)
    let requested = Task {
      let health = await connection.call("health")
      answer.withLock { $0 = health["result"]?["status"]?.stringValue }
    }
    let watch = Task { await bench.service.watch() }
    defer { watch.cancel() }
    #expect(await Self.passes(bench.clock, by: .microseconds(5)) { answer.withLock { $0 } == "ok" })
    await requested.value

    let lonely = try Self.bench(Self.two, up: up)
    lonely.service.prepareWatch()
    let isReady = Locked<Bool?>(nil)
    let readiness = Task {
      let isReadyNow = await lonely.service.settledReadiness.isReady
      isReady.withLock { $0 = isReadyNow }
    }
    let begin = lonely.clock.monotonicNow
    #expect(await Self.passes(lonely.clock, by: .milliseconds(5)) { isReady.withLock { $0 } == false })
    #expect(lonely.clock.monotonicNow - begin >= HealthMonitor.settlingTime)
    await readiness.value
  }

  @Test("a sidecar sends no request to issuers before the first request for its readiness")
  func interest() async throws {
    let requested = Locked(0)
    let bench = try SidecarBench(Self.two) { _, _ async throws(TransportError) in
      requested.withLock { $0 += 1 }
      return HTTPResponse(status: 200, fields: Self.fields, body: Array(Self.keys.utf8))
    }
    bench.service.prepareWatch()
    let watch = Task { await bench.service.watch() }
    defer { watch.cancel() }
    #expect(await Self.passes(bench.clock) { Self.check(bench, "store") == "ok" })
    bench.clock.advance(by: .seconds(60))
    #expect(bench.service.readiness.isReady && requested.withLock { $0 } == 0)
    _ = await bench.connect().call("subscribe", ["events": ["event.healthChanged"]])
    // Both issuers: only then the status is ok. By then newer keys may have been requested, too.
    #expect(await Self.passes(bench.clock) { requested.withLock { $0 } >= 2 && Self.status(bench) == "ok" })
  }

  @Test("keys are refreshed before they expire; a lost issuer is degraded while its keys are valid, then down")
  func losing() async throws {
    let up = Locked<Set<String>>(["one.test"])
    let yaml = """
      issuers:
        one:
          issuer: https://one.test
          clientId: c
          clientAuth: none
          endpoints: { jwks: "https://one.test/keys" }
          jwks: { staleIfError: 1d }
      """
    let bench = try Self.bench(yaml, up: up)
    bench.service.prepareWatch()
    bench.service.health.wantReadiness()
    let watch = Task { await bench.service.watch() }
    defer { watch.cancel() }
    let clock = bench.clock
    #expect(await Self.passes(clock) { Self.status(bench) == "ok" })
    up.withLock { $0 = [] }
    #expect(await Self.passes(clock) { Self.status(bench) == "degraded" })
    #expect(bench.service.readiness.isReady)
    #expect(await Self.passes(clock, by: .seconds(3600)) { Self.status(bench) == "down" })
    #expect(!bench.service.readiness.isReady)
    up.withLock { $0 = ["one.test"] }
    #expect(await Self.passes(clock) { Self.status(bench) == "ok" })
  }

  /// Lets time pass in steps until `condition` holds. Time also passes while the sidecar's threads do not
  /// run: a condition that holds once must still hold some thousands of steps later.
  private static func passes(
    _ clock: ManualClock, by step: Duration = .milliseconds(500), until condition: @Sendable () -> Bool
  ) async -> Bool {
    let end = ContinuousClock.now.advanced(by: .seconds(30))
    while ContinuousClock.now < end {
      for _ in 0..<200 where !condition() { await Task.yield() }
      if condition() { return true }
      clock.advance(by: step)
    }
    return false
  }

  @Test("attempts come after 1, 2, 4 … 30 seconds, one at a time, at once after a reload, and keys are looked at again")
  func agenda() {
    var agenda = KeyPrefetchSchedule()
    var now = MonotonicInstant(nanoseconds: 0)
    for pause in [1, 2, 4, 8, 16, 30, 30] {
      #expect(agenda.due(of: ["a"], at: now, isReloaded: false) == ["a"])
      #expect(agenda.due(of: ["a"], at: now + .seconds(60), isReloaded: false) == [])
      agenda.ended("a", hasSucceeded: false, at: now, generation: 0)
      now = now + .seconds(pause)
      #expect(agenda.due(of: ["a"], at: now + .milliseconds(-1), isReloaded: false) == [])
    }
    #expect(agenda.due(of: ["a"], at: now, isReloaded: false) == ["a"])
    // Under way for the configuration before: that counts for nothing, however it ends.
    #expect(agenda.due(of: ["a", "b"], at: now, isReloaded: true) == ["a", "b"])
    agenda.ended("a", hasSucceeded: false, at: now, generation: 0)
    agenda.ended("a", hasSucceeded: false, at: now, generation: 1)
    agenda.ended("b", hasSucceeded: true, at: now, generation: 1)
    #expect(agenda.due(of: ["a", "b"], at: now + .seconds(1), isReloaded: false) == ["a"])
    #expect(agenda.due(of: ["b"], at: now + KeyPrefetchSchedule.interval, isReloaded: false) == ["b"])
    agenda.ended("gone", hasSucceeded: true, at: now, generation: 1)
  }

  @Test("a store that cannot be used is down whatever the issuers do; an issuer that gives tokens counts without keys")
  func board() {
    let clock = ManualClock()
    let board = HealthMonitor(clock: clock)
    board.configurationLoaded(issuers: ["a"])
    #expect(board.report().status == .ok)
    board.store(fault: "unavailable: gone")
    #expect(board.report().status == .down)
    board.store(fault: nil)
    board.keys(of: "a", fault: "no key set", hasOlder: false)
    #expect(board.report().status == .down)
    board.token(of: "a", fault: nil)
    #expect(board.report().status == .degraded)
    board.token(of: "a", fault: "no token")
    #expect(board.report().status == .degraded, "one request that failed")
    clock.advance(by: HealthMonitor.tokenTime)
    #expect(board.report().status == .down)
    board.publishesNoKeys("a")
    board.keys(of: "a", fault: "no key set", hasOlder: false)
    #expect(board.report().checks["issuer.a.keys"]?.status == .ok)
    board.token(of: "a", fault: nil)
    board.configurationLoaded(issuers: ["a"])
    #expect(board.report().checks["issuer.a.keys"]?.status == .ok)
    board.watch(true)
    board.configurationLoaded(issuers: ["a"], changed: (issuers: ["a"], decisionPoints: []))
    #expect(board.report().status == .down, "another server's responses do not count for this one")
    board.configurationLoaded(issuers: [])
    #expect(board.report().status == .ok)
  }
}
