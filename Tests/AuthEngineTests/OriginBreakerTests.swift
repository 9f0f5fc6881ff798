import AuthEngine
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

@testable import ResourceAccess

@Suite("Circuit breakers of origins", .timeLimit(.minutes(1)))
struct OriginBreakerTests {
  private static let rule = OriginLimits(breaker: .init(failures: 3, openFor: .seconds(30)))

  private func run(_ bench: OriginGateBench, _ verdicts: CircuitBreaker.Verdict...) async throws {
    for verdict in verdicts { bench.gate.leave(try await bench.enter(Self.rule), verdict) }
  }

  @Test("failures in a row open the breaker; a success between them, or one that says nothing, does not count")
  func opening() async throws {
    let bench = try OriginGateBench()
    try await run(bench, .failure, .failure, .success, .failure, .neither, .failure)
    #expect(bench.gate.states.first?.circuit == .closed)
    try await run(bench, .failure)
    #expect(bench.gate.states.first?.circuit == .open)
    await #expect(throws: OriginGate.Refusal.open(.seconds(30))) { try await bench.enter(Self.rule) }
    bench.clock.advance(by: .seconds(29))
    await #expect(throws: OriginGate.Refusal.open(.seconds(1))) { try await bench.enter(Self.rule) }
  }

  @Test("then one goes to see, and decides", arguments: [CircuitBreaker.Verdict.success, .failure, .neither])
  func probing(verdict: CircuitBreaker.Verdict) async throws {
    let bench = try OriginGateBench()
    try await run(bench, .failure, .failure, .failure)
    bench.clock.advance(by: .seconds(30))
    #expect(bench.gate.states.first?.circuit == .halfOpen)
    let probe = try await bench.enter(Self.rule)
    await #expect(throws: OriginGate.Refusal.open(.seconds(1))) { try await bench.enter(Self.rule) }
    bench.gate.leave(probe, verdict)
    switch verdict {
    case .success: #expect(bench.gate.states == [])
    case .failure:
      await #expect(throws: OriginGate.Refusal.open(.seconds(30))) { try await bench.enter(Self.rule) }
    case .neither:
      let another = try await bench.enter(Self.rule)
      await #expect(throws: OriginGate.Refusal.open(.seconds(1))) { try await bench.enter(Self.rule) }
      bench.gate.leave(another, .success)
    }
  }

  @Test("one that goes to see and does not come back keeps the others away no longer than the breaker was open")
  func lostProbe() async throws {
    let bench = try OriginGateBench()
    try await run(bench, .failure, .failure, .failure)
    bench.clock.advance(by: .seconds(30))
    let held = try await bench.enter(Self.rule)
    bench.clock.advance(by: .milliseconds(29_500))
    await #expect(throws: OriginGate.Refusal.open(.milliseconds(500))) { try await bench.enter(Self.rule) }
    bench.clock.advance(by: .milliseconds(500))
    let second = try await bench.enter(Self.rule)
    await #expect(throws: OriginGate.Refusal.open(.seconds(1))) { try await bench.enter(Self.rule) }
    bench.gate.leave(second, .failure)
    // Late, it says nothing of the server as it is now.
    bench.gate.leave(held, .success)
    await #expect(throws: OriginGate.Refusal.open(.seconds(30))) { try await bench.enter(Self.rule) }
    let told = bench.observer.events.map {
      switch $0 {
      case .breakerOpened: "opened"
      case .breakerClosed: "closed"
      default: "refused"
      }
    }
    #expect(told.filter { $0 != "refused" } == ["opened", "opened"])
  }

  @Test("one that goes to see and comes back when no breaker is configured leaves nothing for the next breaker")
  func reconfigured() async throws {
    let bench = try OriginGateBench()
    let with = OriginLimits(concurrency: 1, queue: 1, breaker: .init(failures: 1, openFor: .seconds(30)))
    let without = OriginLimits(concurrency: 1, queue: 1)
    bench.gate.leave(try await bench.enter(with), .failure)
    bench.clock.advance(by: .seconds(30))
    let probe = try await bench.enter(with)
    let waiting = Task { try await bench.enter(without) }
    await bench.waits(1)
    waiting.cancel()
    await #expect(throws: OriginGate.Refusal.cancelled) { try await waiting.value }
    bench.gate.leave(probe, .success)
    bench.gate.leave(try await bench.enter(with), .success)
    #expect(bench.gate.states == [])
  }

  @Test("those who went before it opened change nothing; those who wait are refused with it")
  func together() async throws {
    let bench = try OriginGateBench()
    let limits = OriginLimits(concurrency: 4, queue: 4, breaker: .init(failures: 2, openFor: .seconds(30)))
    var places: [OriginGate.Place] = []
    for _ in 0..<4 { places.append(try await bench.enter(limits)) }
    let waiting = Task { try await bench.enter(limits) }
    await bench.waits(1)
    bench.gate.leave(places[0], .failure)
    // That one's place is the waiting one's now.
    let fifth = try await waiting.value
    let more = Task { try await bench.enter(limits) }
    await bench.waits(1)
    bench.gate.leave(places[1], .failure)
    await #expect(throws: OriginGate.Refusal.open(.seconds(30))) { try await more.value }
    bench.clock.advance(by: .seconds(10))
    bench.gate.leave(places[2], .success)
    bench.gate.leave(places[3], .failure)
    bench.gate.leave(fifth, .failure)
    await #expect(throws: OriginGate.Refusal.open(.seconds(20))) { try await bench.enter(limits) }
    #expect(bench.gate.states.first?.inFlight == 0)
  }

  @Test("any number of origins that fail take a bounded room")
  func bounded() async throws {
    let bench = try OriginGateBench()
    for number in 0..<(OriginGate.bound + 100) {
      let key = OriginGate.Key(resource: "r", origin: try HTTPURL("https://h\(number).test").origin)
      let visitor = OriginGate.Visitor(deadline: { .never }, control: nil)
      bench.gate.leave(try await bench.gate.enter(key, Self.rule, visitor), .failure)
    }
    #expect(bench.gate.states.count == OriginGate.bound)
  }
}
