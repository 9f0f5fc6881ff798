import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@Suite("Preauthorization")
struct PreauthorizerTests {
  @Test("order is kept, duplicates are requested once and answered each, ids that look alike are two")
  func order() async throws {
    let engine = DecisionEngine.authzen { .decisions($0.map { $0 != "no" }) }
    let resources = ["b", "no", "a", "b", "\u{e9}", "e\u{301}", "no"]
    let response = await engine.ask(resources, at: try engine.point())
    #expect(response.decisions.map(\.isAuthorized) == [true, false, true, true, true, true, false])
    for (decision, resource) in zip(response.decisions, resources) {
      #expect(Array(decision.id.utf8) == Array(resource.utf8))
      #expect(decision.isAuthorized == (decision.error == nil))
    }
    #expect(DecisionEngine.ids(in: try #require(engine.posts.first)).count == 5)
    #expect(engine.posts.count == 1)
  }

  @Test("a request about nothing reads as a success, or as trouble of the decision point")
  func nothing() async throws {
    let engine = DecisionEngine.authzen { .decisions($0.map { _ in true }) }
    let response = await engine.ask([], at: try engine.point())
    #expect(response.outcome == .failure && response.decisions.isEmpty && engine.posts.isEmpty)
    #expect(response.status?.code == "bad_request" && response.status?.status == 0)
  }

  @Test("a permit is cached for the shortest of configuration and session, a deny only where that is configured")
  func lifetimes() async throws {
    let engine = DecisionEngine.authzen { .decisions($0.map { $0 != "no" }) }
    let point = try engine.point { $0.denyLifetime = .seconds(10) }
    #expect(await engine.ask(["a", "no"], at: point).decisions.map(\.source) == [.backend, .backend])
    engine.clock.advance(by: .seconds(5))
    let second = await engine.ask(["a", "no"], at: point)
    #expect(second.decisions.map(\.source) == [.local, .local])
    #expect(second.decisions.map(\.age) == [.seconds(5), .seconds(5)])
    #expect(second.decisions[0].expiresAt == engine.clock.wallNow + .seconds(55))
    engine.clock.advance(by: .seconds(5))
    #expect(await engine.ask(["a", "no"], at: point).decisions.map(\.source) == [.local, .backend])
    engine.clock.advance(by: .seconds(50))
    #expect(await engine.ask(["a"], at: point).decisions.map(\.source) == [.backend])
    let forgetful = try engine.point { $0.permitLifetime = .zero }
    for _ in 0..<2 {
      let response = await engine.ask(["a"], at: forgetful)
      #expect(response.decisions.first?.source == .backend && response.decisions.first?.expiresAt == nil)
    }
  }

  @Test("no call gets a decision about another subject, uid, context or configuration")
  func scopes() async throws {
    let engine = DecisionEngine.authzen { .decisions($0.map { _ in true }) }
    let point = try engine.point()
    let subjects = [
      DecisionSubject(id: "alice", uid: 1), DecisionSubject(id: "alice", uid: 2),
      DecisionSubject(id: "bob", uid: 1), DecisionSubject(type: "user", id: "alice", uid: 1),
      DecisionSubject(id: "alice", properties: ["role": "admin"], uid: 1),
    ]
    for subject in subjects {
      #expect(await engine.ask(["a"], at: point, subject: subject).decisions.first?.source == .backend)
    }
    #expect(await engine.ask(["a"], at: point, context: ["ip": "::1"]).decisions.first?.source == .backend)
    #expect(await engine.ask(["a"], at: try engine.point()).decisions.first?.source == .backend)
    #expect(await engine.ask(["a"], at: point).decisions.first?.source == .local)
  }

  @Test("a lookup of removed decisions, or one that bypasses the cache, is joined by no call and not cached")
  func forgetting() async throws {
    let gate = Gate()
    let engine = DecisionEngine { request, _ in
      if request.method == "GET" { return .status(404) }
      if DecisionEngine.ids(in: request).contains("slow") { await gate.pass() }
      return .decisions(DecisionEngine.ids(in: request).map { _ in true })
    }
    let point = try engine.point()
    async let first = engine.ask(["slow"], at: point)
    #expect(await eventually { engine.posts.count == 1 })
    #expect(engine.preauthorizer.forget(DecisionSelection(uid: 1)) == 0)
    async let second = engine.ask(["slow"], at: point)
    #expect(await eventually { engine.posts.count == 2 })
    async let third = engine.ask(["slow"], at: point, disabled: [.localCache])
    #expect(await eventually { engine.posts.count == 3 })
    async let joined = engine.ask(["slow"], at: point)
    gate.open()
    for response in await [first, second, third, joined] { #expect(response.decisions.first?.isAuthorized == true) }
    #expect(engine.posts.count == 3)
    #expect(await engine.ask(["slow"], at: point).decisions.first?.source == .local)
    #expect(engine.preauthorizer.forget(DecisionSelection(uid: 2)) == 0)
    #expect(engine.preauthorizer.forget(DecisionSelection(uid: 1, provider: "pdp", resources: ["slow"])) == 1)
  }

  @Test("a call that leaves ends its lookup when no other call waits for it, and only then")
  func leaving() async throws {
    let gate = Gate()
    let engine = DecisionEngine { request, _ in
      if request.method == "GET" { return .status(404) }
      await gate.pass()
      return .decisions([true])
    }
    let point = try engine.point()
    let leaving = Task { await engine.ask(["a"], at: point) }
    #expect(await eventually { engine.posts.count == 1 })
    // With a deadline it has a timer, which begins when it has joined.
    let clock = engine.clock
    async let staying = engine.ask(["a"], at: point, deadline: Deadline(in: .seconds(60), on: clock))
    #expect(await eventually { clock.sleeperCount == 1 })
    leaving.cancel()
    let left = await leaving.value
    #expect(left.outcome == .failure && left.status?.code == "network_error")
    gate.open()
    #expect(await staying.decisions.first?.isAuthorized == true)
    #expect(engine.posts.count == 1)
  }

  @Test("a deadline ends the wait with a fault, never with a decision")
  func deadline() async throws {
    let gate = Gate()
    let engine = DecisionEngine { request, _ in
      if request.method == "GET" { return .status(404) }
      await gate.pass()
      return .decisions([true])
    }
    let point = try engine.point()
    let clock = engine.clock
    async let response = engine.ask(["a"], at: point, deadline: Deadline(in: .seconds(1), on: clock))
    #expect(await eventually { engine.posts.count == 1 && clock.sleeperCount > 0 })
    clock.advance(by: .seconds(1))
    #expect(await response.status?.code == "network_error")
    gate.open()
  }

  @Test("an outage answers with a fault although permits were cached before they expired")
  func outage() async throws {
    let isDown = Locked(false)
    let engine = DecisionEngine { request, _ throws(TransportError) in
      if isDown.withLock({ $0 }) {
        throw TransportError(code: .serverUnreachable, outcome: .notSent, detail: "refused")
      }
      return request.method == "GET" ? .status(404) : .decisions([true])
    }
    let point = try engine.point { $0.attempts = 1 }
    _ = await engine.ask(["a"], at: point)
    isDown.withLock { $0 = true }
    #expect(await engine.ask(["a"], at: point).decisions.first?.source == .local)
    engine.clock.advance(by: .seconds(61))
    let response = await engine.ask(["a"], at: point)
    #expect(response.outcome == .failure && response.status?.code == "network_error")
    #expect(response.decisions.isEmpty)
  }

  @Test("a 429 delays at least a second, and as long as its Retry-After")
  func throttled() async throws {
    let counter = Counter()
    let engine = DecisionEngine { request, _ in
      if request.method == "GET" { return .status(404) }
      switch counter.next() {
      case 1: return .status(429, ("Content-Type", "text/html"))
      case 2: return .status(429, ("Retry-After", "7"))
      default: return .decisions([true])
      }
    }
    let point = try engine.point()
    let clock = engine.clock
    async let response = engine.ask(["a"], at: point)
    #expect(await eventually { counter.current == 1 && clock.sleeperCount == 1 })
    clock.advance(by: .milliseconds(999))
    #expect(counter.current == 1)
    clock.advance(by: .milliseconds(1))
    #expect(await eventually { counter.current == 2 && clock.sleeperCount == 1 })
    clock.advance(by: .seconds(6))
    #expect(counter.current == 2)
    clock.advance(by: .seconds(1))
    #expect(await response.decisions.first?.isAuthorized == true)
  }

  @Test("too many resources are halved now and cut smaller the next time")
  func learning() async throws {
    let engine = DecisionEngine.authzen { ids in
      ids.count > 5
        ? .json(#"{"code":"too_many_resources","status":403,"action":"configuration"}"#, status: 403)
        : .decisions(ids.map { _ in true })
    }
    let point = try engine.point { $0.maxBatch = 8 }
    #expect(await engine.ask((1...8).map { "a\($0)" }, at: point).decisions.allSatisfy(\.isAuthorized))
    #expect(engine.posts.count == 3)
    #expect(await engine.ask((1...8).map { "b\($0)" }, at: point).decisions.allSatisfy(\.isAuthorized))
    #expect(engine.posts.count == 5)
  }

  @Test("a decision point that rejects everything gets no request for each resource")
  func rejection() async throws {
    let engine = DecisionEngine.authzen { _ in .json(#"{"code":"bad_request","message":"no"}"#, status: 400) }
    let response = await engine.ask((1...50).map { "\($0)" }, at: try engine.point())
    #expect(response.outcome == .response && response.decisions.isEmpty && response.status?.code == "bad_request")
    #expect(engine.posts.count <= 26)
  }

  @Test("a fixed token that is rejected is the sidecar's problem, a client credentials token is refreshed once")
  func credentials() async throws {
    let counter = Counter()
    let engine = DecisionEngine { request, _ in
      if request.url.description == "https://idp.test/token" { return .token("t\(counter.next())") }
      if request.method == "GET" { return .status(404) }
      return request.fields["Authorization"] == "Bearer t2" ? .decisions([true]) : .status(401)
    }
    let fixed = try engine.point { $0.credential = .token(Secret("x")) }
    #expect(await engine.ask(["a"], at: fixed).status?.code == "access_token_unavailable")
    let grant = ClientCredentialsGrant(issuer: try .testing())
    let device = try engine.point { $0.credential = .clientCredentials(grant) }
    #expect(await engine.ask(["a"], at: device).decisions.first?.isAuthorized == true)
    #expect(counter.current == 2)
  }

  @Test("the rate limit lets a burst through and then one after the other")
  func rateLimit() async throws {
    let engine = DecisionEngine.authzen { .decisions($0.map { _ in true }) }
    let point = try engine.point { settings in
      settings.rateLimit = DecisionRateLimiter(perSecond: 1, burst: 2)
      settings.permitLifetime = .zero
    }
    // The metadata are one request, too.
    _ = await engine.ask(["a"], at: point)
    let clock = engine.clock
    async let response = engine.ask(["a"], at: point)
    #expect(await eventually { clock.sleeperCount == 1 })
    #expect(engine.posts.count == 1)
    clock.advance(by: .seconds(1))
    #expect(await response.decisions.first?.isAuthorized == true)
    async let hurried = engine.ask(["b"], at: point, deadline: Deadline(in: .milliseconds(1), on: clock))
    #expect(await eventually { clock.sleeperCount == 2 })
    clock.advance(by: .milliseconds(1))
    #expect(await hurried.outcome == .failure)
    #expect(engine.posts.count == 2)
  }
}
