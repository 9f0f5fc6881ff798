import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

@testable import ResourceAccess

@Suite("Circuit breakers of origins", .bothWays, .timeLimit(.minutes(1)))
struct OriginBreakerTests {
  private static let rule = OriginLimits(breaker: .init(failures: 3, openFor: .seconds(30)))

  private func run(_ bench: OriginLimiterBench, _ verdicts: CircuitBreaker.Verdict...) async throws {
    for verdict in verdicts { bench.leave(try await bench.enter(Self.rule), verdict) }
  }

  @Test("failures in a row open the breaker; a success between them, or one without a verdict, does not count")
  func opening() async throws {
    let bench = try OriginLimiterBench()
    try await run(bench, .failure, .failure, .success, .failure, .neither, .failure)
    #expect(bench.limiter.states.first?.circuit == .closed)
    try await run(bench, .failure)
    #expect(bench.limiter.states.first?.circuit == .open)
    await #expect(throws: OriginLimiter.Rejection.open(.seconds(30))) { try await bench.enter(Self.rule) }
    bench.clock.advance(by: .seconds(29))
    await #expect(throws: OriginLimiter.Rejection.open(.seconds(1))) { try await bench.enter(Self.rule) }
  }

  @Test("then one goes to see, and decides", arguments: [CircuitBreaker.Verdict.success, .failure, .neither])
  func probing(verdict: CircuitBreaker.Verdict) async throws {
    let bench = try OriginLimiterBench()
    try await run(bench, .failure, .failure, .failure)
    bench.clock.advance(by: .seconds(30))
    #expect(bench.limiter.states.first?.circuit == .halfOpen)
    let probe = try await bench.enter(Self.rule)
    await #expect(throws: OriginLimiter.Rejection.open(.seconds(1))) { try await bench.enter(Self.rule) }
    bench.leave(probe, verdict)
    switch verdict {
    case .success: #expect(bench.limiter.states == [])
    case .failure:
      await #expect(throws: OriginLimiter.Rejection.open(.seconds(30))) { try await bench.enter(Self.rule) }
    case .neither:
      let another = try await bench.enter(Self.rule)
      await #expect(throws: OriginLimiter.Rejection.open(.seconds(1))) { try await bench.enter(Self.rule) }
      bench.leave(another, .success)
    }
  }

  @Test("one that goes to see and does not come back keeps the others away no longer than the breaker was open")
  func lostProbe() async throws {
    let bench = try OriginLimiterBench()
    try await run(bench, .failure, .failure, .failure)
    bench.clock.advance(by: .seconds(30))
    let slow = try await bench.enter(Self.rule)
    bench.clock.advance(by: .milliseconds(29_500))
    await #expect(throws: OriginLimiter.Rejection.open(.milliseconds(500))) { try await bench.enter(Self.rule) }
    bench.clock.advance(by: .milliseconds(500))
    let second = try await bench.enter(Self.rule)
    await #expect(throws: OriginLimiter.Rejection.open(.seconds(1))) { try await bench.enter(Self.rule) }
    bench.leave(second, .failure)
    // Late, it shows nothing about the server as it is now.
    bench.leave(slow, .success)
    await #expect(throws: OriginLimiter.Rejection.open(.seconds(30))) { try await bench.enter(Self.rule) }
    let events = bench.observer.events.map {
      switch $0 {
      case .breakerOpened: "opened"
      case .breakerClosed: "closed"
      default: "rejected"
      }
    }
    #expect(events.filter { $0 != "rejected" } == ["opened", "opened"])
  }

  @Test("one that goes to see and comes back when no breaker is configured leaves nothing for the next breaker")
  func reconfigured() async throws {
    let bench = try OriginLimiterBench()
    let with = OriginLimits(concurrency: 1, queue: 1, breaker: .init(failures: 1, openFor: .seconds(30)))
    let without = OriginLimits(concurrency: 1, queue: 1)
    bench.leave(try await bench.enter(with), .failure)
    bench.clock.advance(by: .seconds(30))
    let probe = try await bench.enter(with)
    let waiting = Task { try await bench.enter(without) }
    await bench.waits(1)
    waiting.cancel()
    await #expect(throws: OriginLimiter.Rejection.cancelled) { try await waiting.value }
    bench.leave(probe, .success)
    bench.leave(try await bench.enter(with), .success)
    #expect(bench.limiter.states == [])
  }

  @Test("requests from before it opened change nothing; those that wait are rejected with it")
  func together() async throws {
    let bench = try OriginLimiterBench()
    let limits = OriginLimits(concurrency: 4, queue: 4, breaker: .init(failures: 2, openFor: .seconds(30)))
    var slots: [OriginLimiter.Slot] = []
    for _ in 0..<4 { slots.append(try await bench.enter(limits)) }
    let waiting = Task { try await bench.enter(limits) }
    await bench.waits(1)
    bench.leave(slots[0], .failure)
    // The waiting request has that slot now.
    let fifth = try await waiting.value
    let more = Task { try await bench.enter(limits) }
    await bench.waits(1)
    bench.leave(slots[1], .failure)
    await #expect(throws: OriginLimiter.Rejection.open(.seconds(30))) { try await more.value }
    bench.clock.advance(by: .seconds(10))
    bench.leave(slots[2], .success)
    bench.leave(slots[3], .failure)
    bench.leave(fifth, .failure)
    await #expect(throws: OriginLimiter.Rejection.open(.seconds(20))) { try await bench.enter(limits) }
    #expect(bench.limiter.states.first?.inFlight == 0)
  }

  @Test("any number of origins that fail take bounded memory")
  func bounded() async throws {
    let bench = try OriginLimiterBench()
    for number in 0..<(OriginLimiter.bound + 100) {
      let key = OriginLimiter.Key(resource: "r", origin: try HTTPURL("https://h\(number).test").origin)
      let waiter = OriginLimiter.Waiter(deadline: { .never }, control: nil)
      bench.leave(try await bench.limiter.enter(key, Self.rule, waiter), .failure)
    }
    #expect(bench.limiter.states.count == OriginLimiter.bound)
  }
}
