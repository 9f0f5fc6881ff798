import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@testable import Entitlements

@Suite("Decisions refreshed before they expire")
struct DecisionRefreshTests {
  /// The refreshes that the engine reports.
  private static func refreshes(_ engine: DecisionEngine) -> [[Int]] {
    engine.engine.observer.events.compactMap { event in
      if case .decisionsRefreshed("pdp", let refreshed, let failed) = event { [refreshed, failed] } else { nil }
    }
  }

  @Test("a permit that is used in the last fifth of its lifetime is refreshed once, and no call waits")
  func refresh() async throws {
    let (gate, requests) = (Gate(), Counter())
    let engine = DecisionEngine { request, _ in
      if request.method == "GET" { return .status(404) }
      if requests.next() > 1 { await gate.pass() }
      return .decisions(DecisionEngine.ids(in: request).map { _ in true })
    }
    let point = try engine.point()
    _ = await engine.ask(["a", "b", "c"], at: point)
    engine.clock.advance(by: .seconds(47))
    #expect(await engine.ask(["a", "b"], at: point).decisions.map(\.source) == [.local, .local])
    #expect(engine.posts.count == 1)
    engine.clock.advance(by: .seconds(1))
    for _ in 0..<5 {
      #expect(await engine.ask(["a", "b"], at: point, context: [:]).decisions.map(\.source) == [.local, .local])
    }
    #expect(await eventually { engine.posts.count == 2 })
    #expect(DecisionEngine.ids(in: engine.posts[1]) == ["a", "b"])
    gate.open()
    #expect(await eventually { Self.refreshes(engine) == [[2, 0]] })
    engine.clock.advance(by: .seconds(30))
    let refreshed = await engine.ask(["a", "b", "c"], at: point).decisions
    // The third was not cached.
    #expect(refreshed.map(\.source) == [.local, .local, .backend])
    #expect(refreshed[0].age == .seconds(30) && refreshed[0].expiresAt == engine.clock.wallNow + .seconds(30))
  }

  @Test("a refresh that fails leaves the permit to its end, and is not tried again")
  func failure() async throws {
    let isDown = Locked(false)
    let engine = DecisionEngine.authzen { ids in
      isDown.withLock { $0 } ? .status(500) : .decisions(ids.map { _ in true })
    }
    let point = try engine.point { $0.attempts = 1 }
    _ = await engine.ask(["a"], at: point)
    let end = engine.clock.wallNow + .seconds(60)
    isDown.withLock { $0 = true }
    engine.clock.advance(by: .seconds(50))
    for _ in 0..<3 { #expect(await engine.ask(["a"], at: point).decisions.first?.expiresAt == end) }
    #expect(await eventually { Self.refreshes(engine) == [[0, 1]] })
    #expect(await engine.ask(["a"], at: point).decisions.first?.source == .local)
    #expect(engine.posts.count == 2)
    engine.clock.advance(by: .seconds(10))
    let after = await engine.ask(["a"], at: point)
    #expect(after.decisions.isEmpty && after.status?.code == "internal_server_error")
  }

  @Test("a deny from a refresh is effective at once")
  func deny() async throws {
    let permits = Locked(true)
    let engine = DecisionEngine.authzen { ids in .decisions(ids.map { _ in permits.withLock { $0 } }) }
    let point = try engine.point()
    _ = await engine.ask(["a"], at: point)
    permits.withLock { $0 = false }
    engine.clock.advance(by: .seconds(50))
    #expect(await engine.ask(["a"], at: point).decisions.first?.isAuthorized == true)
    #expect(await eventually { Self.refreshes(engine) == [[1, 0]] })
    #expect(await engine.ask(["a"], at: point).decisions.first?.isAuthorized == false)
  }

  @Test("a decision that is removed while it is refreshed remains removed, and its lookup ends")
  func forgotten() async throws {
    let (gate, requests, ended) = (Gate(), Counter(), Counter())
    let clock = ManualClock()
    let engine = DecisionEngine { request, _ throws(TransportError) in
      if request.method == "GET" { return .status(404) }
      if requests.next() == 1 { return .decisions([true, true]) }
      gate.open()
      guard (try? await clock.sleep(for: .seconds(1000))) != nil else {
        ended.next()
        throw TransportError(code: .cancelled, outcome: .sentNoReply, detail: "cancelled")
      }
      return .decisions([true, true])
    }
    let point = try engine.point()
    _ = await engine.ask(["a", "b"], at: point)
    engine.clock.advance(by: .seconds(50))
    _ = await engine.ask(["a", "b"], at: point)
    await gate.pass()
    #expect(engine.preauthorizer.forget(DecisionSelection(resources: ["a"])) == 1)
    #expect(ended.current == 0)
    #expect(engine.preauthorizer.forget(DecisionSelection()) == 1)
    #expect(await eventually { ended.current == 1 })
    #expect(engine.preauthorizer.cache.count == 0 && engine.preauthorizer.cache.lookupCount == 0)
    #expect(Self.refreshes(engine).isEmpty)
  }

  @Test("a call that comes when the permit has expired waits for the refresh instead of starting a lookup")
  func joined() async throws {
    let (gate, requests) = (Gate(), Counter())
    let engine = DecisionEngine { request, _ in
      if request.method == "GET" { return .status(404) }
      if requests.next() > 1 { await gate.pass() }
      return .decisions([true])
    }
    let point = try engine.point()
    _ = await engine.ask(["a"], at: point)
    engine.clock.advance(by: .seconds(50))
    _ = await engine.ask(["a"], at: point)
    #expect(await eventually { engine.posts.count == 2 })
    engine.clock.advance(by: .seconds(10))
    // One that leaves does not end it.
    let deadline = Deadline(in: .seconds(60), on: engine.clock)
    let leaving = Task { await engine.ask(["a"], at: point, deadline: deadline) }
    #expect(await eventually { engine.clock.sleeperCount == 1 })
    leaving.cancel()
    _ = await leaving.value
    async let response = engine.ask(["a"], at: point, deadline: deadline)
    // Its timer begins when it has joined.
    #expect(await eventually { engine.clock.sleeperCount == 1 })
    gate.open()
    let decision = await response.decisions.first
    #expect(decision?.isAuthorized == true && engine.posts.count == 2)
  }

  @Test("a refresh takes no slot of the rate limit from waiting calls")
  func rateLimit() async throws {
    let engine = DecisionEngine.authzen { .decisions($0.map { _ in true }) }
    let point = try engine.point { $0.rateLimit = DecisionRateLimiter(perSecond: 0.01, burst: 2) }
    _ = await engine.ask(["a"], at: point)
    engine.clock.advance(by: .seconds(50))
    #expect(await engine.ask(["a"], at: point).decisions.first?.source == .local)
    #expect(await eventually { Self.refreshes(engine) == [[0, 1]] })
    #expect(engine.posts.count == 1 && engine.clock.sleeperCount == 0)
  }

  @Test("refreshes beyond the bound are not started until slots are free again")
  func bound() async throws {
    let (gate, requests) = (Gate(), Counter())
    let engine = DecisionEngine { request, _ in
      if request.method == "GET" { return .status(404) }
      if requests.next() > 40 { await gate.pass() }
      return .decisions([true])
    }
    let point = try engine.point()
    let names = (1...40).map { "\($0)" }
    for name in names { _ = await engine.ask([name], at: point) }
    engine.clock.advance(by: .seconds(50))
    for name in names { _ = await engine.ask([name], at: point) }
    // Three quarters of the slots: the rest is for other uids.
    let most = InFlightDecisions.maxRefreshes * 3 / 4
    #expect(engine.preauthorizer.cache.lookupCount == most)
    gate.open()
    #expect(await eventually { engine.preauthorizer.cache.lookupCount == 0 })
    for name in names.dropFirst(most).prefix(10) { _ = await engine.ask([name], at: point) }
    #expect(await eventually { Self.refreshes(engine).count == most + 10 })
  }

  @Test("nothing is refreshed beyond its session, or with a lifetime of less than a second")
  func unrenewable() async throws {
    let engine = DecisionEngine.authzen { .decisions($0.map { _ in true }) }
    let brief = try engine.point { $0.permitLifetime = .milliseconds(900) }
    _ = await engine.ask(["a"], at: brief)
    engine.clock.advance(by: .milliseconds(890))
    #expect(await engine.ask(["a"], at: brief).decisions.first?.source == .local)
    let point = try engine.point()
    let subject = try DecisionFlightTests.subject(expiresAt: engine.clock.wallNow + .seconds(30))
    _ = await engine.ask(["a"], at: point, subject: subject)
    engine.clock.advance(by: .seconds(29))
    #expect(await engine.ask(["a"], at: point, subject: subject).decisions.first?.source == .local)
    for _ in 0..<100 { await Task.yield() }
    #expect(engine.posts.count == 2 && Self.refreshes(engine).isEmpty)
  }
}
