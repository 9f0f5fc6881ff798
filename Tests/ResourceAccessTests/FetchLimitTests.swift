import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

/// A resource's limits as a fetch meets them.
@Suite("A fetch within limits", .bothWays, .timeLimit(.minutes(1)))
struct FetchLimitTests {
  private static func server(_ limits: OriginLimits) throws -> ResourceServer {
    var server = try ResourceServer.testing(additionalOrigins: ["https://cdn.test"], authentication: .none)
    server.limits = limits
    return server
  }

  private static let breaker = OriginLimits(breaker: .init(failures: 1, openFor: .seconds(30)))

  static let verdicts: [(UpstreamExchange.Outcome, Bool)] = [
    (.status(200), false), (.status(401), false), (.status(404), false), (.status(429), false),
    (.status(500), false), (.status(501), false), (.status(502), true), (.status(503), true),
    (.status(504), true), (.failed(.serverUnreachable), true), (.failed(.networkUnreachable), true),
    (.failed(.protocolError), true), (.failed(.tlsFailure), false), (.failed(.pinMismatch), false),
    (.failed(.responseTooLarge), false), (.failed(.cancelled), false), (.failed(.timedOut), false),
    (.failed(.addressNotAllowed), false),
  ]

  @Test("what opens the breaker, and what does not", arguments: verdicts)
  func counts(row: (UpstreamExchange.Outcome, Bool)) async throws {
    let engine = Engine { _, _ throws(TransportError) in
      switch row.0 {
      case .status(let status): return .status(status)
      case .failed(let code): throw TransportError(code: code, outcome: .sentNoReply, detail: "")
      }
    }
    let server = try Self.server(Self.breaker)
    for _ in 0..<2 { _ = try? await engine.fetcher.fetch(ResourceRequest(path: "x"), from: server) }
    #expect(engine.transport.requests.count == (row.1 ? 1 : 2))
    #expect((engine.fetcher.originStates.first?.circuit == .open) == row.1)
  }

  @Test("an open circuit breaker makes the server unreachable, and nothing is sent; after its time a request is sent")
  func open() async throws {
    let isWell = Locked(false)
    let engine = Engine { _, _ throws(TransportError) in
      if isWell.withLock({ $0 }) { return .status(200) }
      throw TransportError(code: .serverUnreachable, outcome: .sentNoReply, detail: "")
    }
    let server = try Self.server(Self.breaker)
    _ = try? await engine.fetcher.fetch(ResourceRequest(path: "x", method: "POST", body: []), from: server)
    engine.clock.advance(by: .seconds(10))
    let error = await #expect(throws: ResourceError.self) {
      try await engine.fetcher.fetch(ResourceRequest(path: "x", method: "POST", body: []), from: server)
    }
    #expect(error?.code == .serverUnreachable && error?.outcome == .notSent)
    #expect(error?.retryable == true && error?.retryAfter == .seconds(20))
    // Another origin of the same resource is another matter.
    isWell.withLock { $0 = true }
    #expect(try await engine.fetcher.fetch(ResourceRequest(path: "https://cdn.test/"), from: server).status == 200)
    engine.clock.advance(by: .seconds(20))
    #expect(try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: server).status == 200)
    #expect(engine.fetcher.originStates == [])
  }

  @Test(
    "a timeout counts where the server had half of the resource's timeout, and not with a shorter one of the caller")
  func hurry() async throws {
    for (spent, opens) in [(Duration.seconds(14), false), (.seconds(15), true)] {
      let clock = ManualClock()
      let engine = Engine(clock: clock) { _, _ throws(TransportError) in
        clock.advance(by: spent)
        throw TransportError(code: .timedOut, outcome: .sentNoReply, detail: "")
      }
      _ = try? await engine.fetcher.fetch(ResourceRequest(path: "x"), from: try Self.server(Self.breaker))
      #expect((engine.fetcher.originStates.first?.circuit == .open) == opens)
    }
  }

  @Test("without a slot or a queue the fetch is overloaded, retryable, and not sent; the wait for a slot is reported")
  func overloaded() async throws {
    let gate = Gate()
    let engine = Engine { request, _ in
      if request.url.path.hasSuffix("slow") { await gate.pass() }
      return .status(200)
    }
    let server = try Self.server(OriginLimits(concurrency: 1, queue: 1))
    let slow = Task { try await engine.fetcher.fetch(ResourceRequest(path: "slow"), from: server) }
    #expect(await eventually { engine.transport.requests.count == 1 })
    let queued = Task { try await engine.fetcher.fetch(ResourceRequest(path: "queued"), from: server) }
    #expect(await eventually { engine.fetcher.originStates.first?.waiting == 1 })
    let error = await #expect(throws: ResourceError.self) {
      try await engine.fetcher.fetch(ResourceRequest(path: "x", method: "POST", body: []), from: server)
    }
    #expect(error?.code == .overloaded && error?.outcome == .notSent)
    #expect(error?.retryable == true && error?.retryAfter == .seconds(1))
    engine.clock.advance(by: .seconds(3))
    gate.open()
    #expect(try await slow.value.timing.queued == .zero)
    #expect(try await queued.value.timing.queued == .seconds(3))
    #expect(engine.transport.requests.count == 2 && engine.fetcher.originStates == [])
  }

  @Test("a redirect releases its slot before it takes the next: one slot is enough for a chain")
  func redirects() async throws {
    let engine = Engine { request, _ in
      switch request.url.description {
      case "https://api.test/base/x": .status(302, ("Location", "https://cdn.test/a"))
      case "https://cdn.test/a": .status(302, ("Location", "https://api.test/base/y"))
      default: .status(200)
      }
    }
    let server = try Self.server(OriginLimits(concurrency: 1, queue: 0))
    #expect(try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: server).status == 200)
    #expect(engine.fetcher.originStates == [])
  }

  @Test("a rejection behind a redirect reports that a request was answered")
  func rejectedBehindRedirect() async throws {
    let engine = Engine { request, _ in
      request.url.origin.host == "api.test" ? .status(307, ("Location", "https://cdn.test/a")) : .status(503)
    }
    let server = try Self.server(Self.breaker)
    _ = try await engine.fetcher.fetch(ResourceRequest(path: "x", method: "POST", body: []), from: server)
    let error = await #expect(throws: ResourceError.self) {
      try await engine.fetcher.fetch(ResourceRequest(path: "x", method: "POST", body: []), from: server)
    }
    #expect(error?.code == .serverUnreachable && error?.outcome == .replied && error?.retryable == false)
  }
}
