import AuthEngine
import EngineTestSupport
import HTTPMessages
import JOSE
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@testable import Entitlements
@testable import Sessions

@Suite("Decisions in flight")
struct DecisionFlightTests {
  /// The user of a session that ends at `expiresAt`.
  static func subject(
    _ handle: SessionHandle = SessionHandle.random(), uid: UInt32 = 1, acr: String? = nil, expiresAt: Timestamp?
  ) throws -> DecisionSubject {
    let session = Session(
      handle: handle, issuer: "corp", subject: "alice", kind: .user, scope: nil,
      createdAt: Timestamp(secondsSinceEpoch: 0), expiresAt: expiresAt, accessTokenExpiresAt: nil, claims: nil,
      acr: acr, authenticatedAt: nil)
    let bench = try SessionBench()
    return DecisionSubject(
      session,
      through: SessionRef(handle: handle, uid: uid, issuer: bench.issuer, sessions: bench.sessions))
  }

  @Test("a lookup ends with the last call that waits for it, and is started again afterwards")
  func abandoned() async throws {
    let (ended, isQuick) = (Counter(), Locked(false))
    let clock = ManualClock()
    let engine = DecisionEngine { request, _ throws(TransportError) in
      if request.method == "GET" { return .status(404) }
      if isQuick.withLock({ $0 }) { return .decisions([true]) }
      do {
        try await clock.sleep(for: .seconds(1000))
      } catch {
        ended.next()
      }
      throw TransportError(code: .cancelled, outcome: .sentNoReply, detail: "cancelled")
    }
    let point = try engine.point()
    // With a deadline each has a timer, which begins when it has joined.
    let deadline = Deadline(in: .seconds(60), on: engine.clock)
    let calls = (0..<3).map { _ in Task { await engine.ask(["a"], at: point, deadline: deadline) } }
    #expect(
      await eventually { engine.posts.count == 1 && clock.sleeperCount == 1 && engine.clock.sleeperCount == 3 })
    for call in calls {
      #expect(ended.current == 0)
      call.cancel()
      #expect(await call.value.status?.code == "network_error")
    }
    #expect(await eventually { ended.current == 1 })
    #expect(engine.preauthorizer.cache.lookupCount == 0)
    isQuick.withLock { $0 = true }
    #expect(await engine.ask(["a"], at: point).decisions.first?.isAuthorized == true)
    #expect(engine.posts.count == 2)
  }

  @Test("without LOCAL_CACHE nothing is read from the cache, and the newer decision replaces the older one")
  func aroundTheMemory() async throws {
    let permits = Locked(true)
    let engine = DecisionEngine.authzen { ids in .decisions(ids.map { _ in permits.withLock { $0 } }) }
    let point = try engine.point()
    let first = await engine.ask(["a"], at: point)
    engine.clock.advance(by: .seconds(10))
    let fresh = await engine.ask(["a"], at: point, disabled: [.localCache])
    #expect(fresh.decisions.first?.source == .backend && fresh.decisions.first?.age == .zero)
    let kept = await engine.ask(["a"], at: point).decisions.first
    #expect(kept?.source == .local && kept?.expiresAt == fresh.decisions.first?.expiresAt)
    #expect(kept?.expiresAt != first.decisions.first?.expiresAt)
    permits.withLock { $0 = false }
    #expect(await engine.ask(["a"], at: point).decisions.first?.isAuthorized == true)
    #expect(await engine.ask(["a"], at: point, disabled: [.localCache]).decisions.first?.isAuthorized == false)
    #expect(await engine.ask(["a"], at: point).decisions.first?.isAuthorized == false)
    #expect(engine.posts.count == 4)
  }

  @Test("what is decided after the session's end counts for nothing, what was decided before does")
  func expiryBetweenBatches() async throws {
    let gate = Gate()
    let engine = DecisionEngine { request, _ in
      if request.method == "GET" { return .status(404) }
      if DecisionEngine.ids(in: request) == ["slow"] { await gate.pass() }
      return .decisions([true])
    }
    let point = try engine.point { $0.maxBatch = 1 }
    let clock = engine.clock
    let subject = try Self.subject(expiresAt: clock.wallNow + .seconds(30))
    async let response = engine.ask(["a", "slow", "b", "c", "d"], at: point, subject: subject)
    #expect(await eventually { engine.preauthorizer.cache.count == 4 && gate.waiterCount == 1 })
    clock.advance(by: .seconds(30))
    gate.open()
    let decisions = await response.decisions
    #expect(decisions.map(\.isAuthorized) == [true, false, true, true, true])
    #expect(decisions[1].error?.code == "authentication_session_expired")
    #expect(decisions[0].expiresAt == clock.wallNow)
    // Nothing of it is cached, and no request is in flight.
    let after = await engine.ask(["a", "slow"], at: point, subject: subject)
    #expect(after.outcome == .failure && after.status?.code == "authentication_session_expired")
    #expect(engine.posts.count == 5)
  }

  @Test("a session's decisions end with it and with every later login of its user, and with no other user's")
  func purge() async throws {
    let engine = DecisionEngine.authzen { .decisions($0.map { _ in true }) }
    let point = try engine.point()
    let (first, second) = (SessionHandle.random(), SessionHandle.random())
    let subjects = [
      try Self.subject(first, expiresAt: nil), try Self.subject(second, expiresAt: nil),
      try Self.subject(first, acr: "gold", expiresAt: nil),
    ]
    for subject in subjects {
      #expect(await engine.ask(["a"], at: point, subject: subject).decisions.first?.source == .backend)
    }
    #expect(engine.preauthorizer.forget(DecisionSelection(uid: 1, session: first)) == 2)
    #expect(await engine.ask(["a"], at: point, subject: subjects[1]).decisions.first?.source == .local)
    #expect(await engine.ask(["a"], at: point, subject: subjects[0]).decisions.first?.source == .backend)
  }

  @Test("values that run together are different subjects all the same")
  func fullValues() async throws {
    let engine = DecisionEngine.authzen { .decisions($0.map { _ in true }) }
    let point = try engine.point()
    let subjects = [
      DecisionSubject(type: "ab", id: "c", uid: 1), DecisionSubject(type: "a", id: "bc", uid: 1),
      DecisionSubject(type: "", id: "abc", uid: 1), DecisionSubject(id: "abc", uid: 1),
      DecisionSubject(id: "\u{e9}", uid: 1), DecisionSubject(id: "e\u{301}", uid: 1),
    ]
    for subject in subjects {
      #expect(await engine.ask(["a"], at: point, subject: subject).decisions.first?.source == .backend)
    }
    for (first, second) in [(["x": "1"], ["x": 1]), (["x": ["y": 1]], ["x": "y"])] as [(JSONObject, JSONObject)] {
      for context in [first, second] {
        #expect(await engine.ask(["a"], at: point, context: context).decisions.first?.source == .backend)
      }
    }
  }

  @Test("a call that leaves while it waits for the rate limit gives its position back")
  func rateLimit() async throws {
    let engine = DecisionEngine.authzen { .decisions($0.map { _ in true }) }
    let limiter = DecisionRateLimiter(perSecond: 1, burst: 2)
    let point = try engine.point { $0.rateLimit = limiter }
    _ = await engine.ask(["a"], at: point)
    let clock = engine.clock
    // It leaves by a task of its own, a moment after its sleep has ended.
    let hasLeft: @Sendable () -> Bool = {
      let waiter = limiter.enqueue(for: 7)
      defer { limiter.leave(waiter) }
      return limiter.wait(waiter, at: clock.monotonicNow) == .seconds(1)
    }
    for name in ["b", "c", "d"] {
      let leaving = Task { await engine.ask([name], at: point) }
      #expect(await eventually { clock.sleeperCount == 1 })
      leaving.cancel()
      #expect(await leaving.value.outcome == .failure)
      #expect(await eventually { clock.sleeperCount == 0 && hasLeft() })
    }
    async let staying = engine.ask(["e"], at: point)
    #expect(await eventually { clock.sleeperCount == 1 })
    clock.advance(by: .seconds(1))
    #expect(await staying.decisions.first?.isAuthorized == true)
    #expect(engine.posts.count == 2)
  }

  @Test("a limit far below what is configured is found in a few questions, and nothing is lost on the way")
  func smallLimit() async throws {
    let engine = DecisionEngine.authzen { ids in
      ids.count > 5
        ? .json(#"{"code":"too_many_resources","status":403}"#, status: 403) : .decisions(ids.map { _ in true })
    }
    let point = try engine.point()
    let response = await engine.ask((1...50).map { "\($0)" }, at: point)
    #expect(response.decisions.count == 50 && response.decisions.allSatisfy(\.isAuthorized))
    // 50, 25, 12 and 6 were too many.
    #expect(engine.posts.count == 4 + 18)
    let rejecting = DecisionEngine.authzen { _ in .json(#"{"code":"too_many_resources"}"#, status: 403) }
    let rejected = await rejecting.ask((1...50).map { "\($0)" }, at: try rejecting.point())
    #expect(rejected.status?.code == "too_many_resources" && rejecting.posts.count <= 6)
  }

  @Test("an error for a batch with too many bytes changes nothing about the number of resources in the next")
  func tooManyBytes() async throws {
    let engine = DecisionEngine.authzen { ids in
      ids.contains("huge") ? .status(413) : .decisions(ids.map { _ in true })
    }
    let point = try engine.point()
    let first = await engine.ask(["a", "huge", "b", "c"], at: point)
    #expect(first.decisions.map(\.isAuthorized) == [true, false, true, true])
    #expect(first.decisions[1].error?.status == 413)
    let before = engine.posts.count
    #expect(await engine.ask((1...50).map { "\($0)" }, at: point).decisions.allSatisfy(\.isAuthorized))
    #expect(engine.posts.count == before + 1)
  }
}
