import AuthEngine
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

@testable import ResourceAccess

/// The limits of a resource's origins: who goes, who waits, who is refused, and that nothing is left behind.
@Suite("Limits of origins", .timeLimit(.minutes(1)))
struct OriginGateTests {
  @Test("those who wait go in the order in which they came, one for each that leaves")
  func order() async throws {
    let bench = try OriginGateBench()
    let limits = OriginLimits(concurrency: 2, queue: 10)
    let first = try await bench.enter(limits)
    let second = try await bench.enter(limits)
    let log = Locked<[(number: Int, place: OriginGate.Place)]>([])
    var tasks: [Task<Void, any Error>] = []
    for number in 0..<5 {
      tasks.append(
        Task {
          let place = try await bench.enter(limits)
          log.withLock { $0.append((number, place)) }
        })
      await bench.waits(number + 1)
    }
    #expect(bench.gate.states.first?.inFlight == 2)
    // One leaves at a time: two who came in together may say so in either order.
    var inside = [first, second]
    for number in 0..<5 {
      bench.gate.leave(inside.removeFirst(), number == 1 ? .neither : .success)
      #expect(await eventually { log.withLock { $0.count } == number + 1 })
      inside += log.withLock { $0 }.dropFirst(number).map(\.place)
    }
    for task in tasks { try await task.value }
    for place in inside { bench.gate.leave(place, .success) }
    #expect(log.withLock { $0.map(\.number) } == [0, 1, 2, 3, 4])
    #expect(bench.gate.states == [])
  }

  @Test("a place goes to the uid that has fewest, whatever another one has waiting")
  func fairness() async throws {
    let bench = try OriginGateBench()
    let limits = OriginLimits(concurrency: 1, queue: 10)
    let (busy, other) = (Requester(uid: 1, connection: 1), Requester(uid: 2, connection: 2))
    let inside = try await bench.enter(limits, for: busy)
    let log = Locked<[(uid: UInt32, place: OriginGate.Place)]>([])
    var tasks: [Task<Void, any Error>] = []
    // The last one brings a second place, which is not for itself.
    for (requester, concurrency) in [(busy, 1), (busy, 1), (busy, 1), (other, 1), (busy, 2)] {
      tasks.append(
        Task {
          let place = try await bench.enter(OriginLimits(concurrency: concurrency, queue: 10), for: requester)
          log.withLock { $0.append((requester.uid, place)) }
        })
      await bench.waits(concurrency == 1 ? tasks.count : 4)
    }
    #expect(await eventually { log.withLock { $0.map(\.uid) } == [2] })
    bench.gate.leave(inside, .success)
    #expect(await eventually { log.withLock { $0.map(\.uid) } == [2, 1] })
    for number in tasks.indices {
      #expect(await eventually { log.withLock { $0.count } > number })
      if let place = log.withLock({ $0.dropFirst(number).first?.place }) { bench.gate.leave(place, .success) }
    }
    for task in tasks { try await task.value }
    #expect(bench.gate.states == [])
  }

  /// Would catch: one place, which all have as few of, and a uid before all of whose queue nobody else comes.
  @Test("where all have as many, uids go by turns")
  func turns() async throws {
    let bench = try OriginGateBench()
    let limits = OriginLimits(concurrency: 1, queue: 10)
    let inside = try await bench.enter(limits, for: Self.alice)
    let log = Locked<[OriginGate.Place]>([])
    let order = Locked<[Int]>([])
    var tasks: [Task<Void, any Error>] = []
    for (number, requester) in [Self.alice, Self.alice, Self.alice, Self.bob, Self.bob].enumerated() {
      tasks.append(
        Task {
          let place = try await bench.enter(limits, for: requester)
          order.withLock { $0.append(number) }
          log.withLock { $0.append(place) }
        })
      await bench.waits(number + 1)
    }
    bench.gate.leave(inside, .success)
    for number in tasks.indices {
      #expect(await eventually { log.withLock { $0.count } > number })
      if let place = log.withLock({ $0.last }) { bench.gate.leave(place, .success) }
    }
    for task in tasks { try await task.value }
    #expect(order.withLock { $0 } == [0, 3, 1, 4, 2])
    #expect(bench.gate.states == [])
  }

  private static let (alice, bob) = (Requester(uid: 1, connection: 1), Requester(uid: 2, connection: 2))
  private static let (carol, dave) = (Requester(uid: 3, connection: 3), Requester(uid: 4, connection: 4))

  /// Would catch: a uid alone that may not have all places, one that keeps a place from others for ever, or more beside
  /// it than the bound.
  @Test("what a uid holds for too long keeps nobody away who has none; alone it may hold all, and never more")
  func lasting() async throws {
    let bench = try OriginGateBench()
    let limits = OriginLimits(concurrency: 2, queue: 10, patience: .seconds(15))
    var places = [try await bench.enter(limits, for: Self.alice), try await bench.enter(limits, for: Self.alice)]
    let more = Task { try await bench.enter(limits, for: Self.alice) }
    await bench.waits(1)
    bench.clock.advance(by: .seconds(5))
    let waiting = Task { try await bench.enter(limits, for: Self.bob) }
    await bench.waits(2)
    #expect(await eventually { bench.clock.sleeperCount == 2 })
    bench.clock.advance(by: .seconds(15))
    places.append(try await waiting.value)
    // Beside the two that last there are two places, at once, for one of each uid.
    places.append(try await bench.enter(limits, for: Self.carol))
    let last = Task { try await bench.enter(limits, for: Self.dave) }
    await bench.waits(2)
    let second = Task { try await bench.enter(limits, for: Self.carol) }
    await bench.waits(3)
    #expect(bench.gate.states.first?.inFlight == 4)
    bench.gate.leave(places.removeLast(), .success)
    places.append(try await last.value)
    for task in [more, second] { task.cancel() }
    for task in [more, second] { await #expect(throws: OriginGate.Refusal.cancelled) { try await task.value } }
    for place in places { bench.gate.leave(place, .success) }
    #expect(bench.gate.states == [])
  }

  /// Would catch: a place that is lent twice because the one that left was not the one that is forgotten.
  @Test("a place that was given back lends nothing any more")
  func lentOnce() async throws {
    let bench = try OriginGateBench()
    let limits = OriginLimits(concurrency: 1, queue: 0, patience: .seconds(15))
    let first = try await bench.enter(limits, for: Self.alice)
    await #expect(throws: OriginGate.Refusal.full) { try await bench.enter(limits, for: Self.bob) }
    bench.clock.advance(by: .seconds(15))
    let second = try await bench.enter(limits, for: Self.bob)
    await #expect(throws: OriginGate.Refusal.full) { try await bench.enter(limits, for: Self.carol) }
    bench.gate.leave(first, .success)
    await #expect(throws: OriginGate.Refusal.full) { try await bench.enter(limits, for: Self.alice) }
    bench.gate.leave(second, .success)
    bench.gate.leave(try await bench.enter(limits, for: Self.alice), .success)
    #expect(bench.gate.states == [])
  }

  /// Would catch: a uid that fills the queue and has all others refused, or two that drive out each other by turns.
  @Test("a full queue has room for a uid that has fewer there: the last of the one that has most is refused instead")
  func shares() async throws {
    let bench = try OriginGateBench()
    let limits = OriginLimits(concurrency: 1, queue: 4)
    let inside = try await bench.enter(limits, for: Self.alice)
    var tasks: [Task<OriginGate.Place, any Error>] = []
    for number in 1...4 {
      tasks.append(Task { try await bench.enter(limits, for: Self.alice) })
      await bench.waits(number)
    }
    await #expect(throws: OriginGate.Refusal.full) { try await bench.enter(limits, for: Self.alice) }
    for last in [3, 2] {
      tasks.append(Task { try await bench.enter(limits, for: Self.bob) })
      let displaced = tasks.remove(at: last)
      await #expect(throws: OriginGate.Refusal.full) { try await displaced.value }
    }
    for requester in [Self.alice, Self.bob] {
      await #expect(throws: OriginGate.Refusal.full) { try await bench.enter(limits, for: requester) }
    }
    await bench.waits(4)
    for task in tasks { task.cancel() }
    for task in tasks { await #expect(throws: OriginGate.Refusal.cancelled) { try await task.value } }
    bench.gate.leave(inside, .success)
    #expect(bench.gate.states == [])
  }

  /// Would catch: a uid whose requests fail, by the path that they ask for, and that has the origin taken from all
  /// others.
  @Test("a breaker is one uid's: another one's requests go on, also those that wait")
  func breakers() async throws {
    let bench = try OriginGateBench()
    let limits = OriginLimits(concurrency: 1, queue: 4, breaker: .init(failures: 2, openFor: .seconds(30)))
    bench.gate.leave(try await bench.enter(limits, for: Self.alice), .failure)
    let failing = try await bench.enter(limits, for: Self.alice)
    let refused = Task { try await bench.enter(limits, for: Self.alice) }
    await bench.waits(1)
    let waiting = Task { try await bench.enter(limits, for: Self.bob) }
    await bench.waits(2)
    bench.gate.leave(failing, .failure)
    await #expect(throws: OriginGate.Refusal.open(.seconds(30))) { try await refused.value }
    bench.gate.leave(try await waiting.value, .success)
    #expect(bench.gate.states.first?.circuit == .open)
    await #expect(throws: OriginGate.Refusal.open(.seconds(30))) { try await bench.enter(limits, for: Self.alice) }
    bench.clock.advance(by: .seconds(30))
    let probe = try await bench.enter(limits, for: Self.alice)
    #expect(bench.gate.states.first?.circuit == .halfOpen)
    bench.gate.leave(probe, .success)
    #expect(bench.gate.states == [])
  }

  /// Would catch: a breaker kept for each of any number of uids.
  @Test("breakers of any number of uids take a bounded room, and whoever has none goes")
  func boundedBreakers() {
    let now = MonotonicInstant(nanoseconds: 0)
    let rule = OriginLimits.Breaker(failures: 1, openFor: .seconds(30))
    var breakers = OriginBreakers()
    let all = 0..<UInt32(OriginBreakers.bound + 100)
    for uid in all { _ = breakers.end(uid, .failure, isProbe: false, at: now, rule) }
    #expect(all.filter { breakers.refusal(of: $0, at: now, rule) != nil }.count == OriginBreakers.bound)
  }

  @Test("who comes to a full queue is refused at once, and that is counted")
  func full() async throws {
    let bench = try OriginGateBench()
    let limits = OriginLimits(concurrency: 1, queue: 1)
    let inside = try await bench.enter(limits)
    let waiting = Task { try await bench.enter(limits) }
    await bench.waits(1)
    await #expect(throws: OriginGate.Refusal.full) { try await bench.enter(limits) }
    bench.gate.leave(inside, .success)
    bench.gate.leave(try await waiting.value, .success)
    #expect(bench.observer.events.count == 1)
  }

  @Test("a wait ends with its task, and with its deadline, and the next in line is not harmed")
  func givingUp() async throws {
    let bench = try OriginGateBench()
    let limits = OriginLimits(concurrency: 1, queue: 10)
    let inside = try await bench.enter(limits)
    let cancelled = Task { try await bench.enter(limits) }
    await bench.waits(1)
    let late = Task { try await bench.enter(limits, deadline: Deadline(in: .seconds(5), on: bench.clock)) }
    await bench.waits(2)
    let patient = Task { try await bench.enter(limits) }
    await bench.waits(3)
    cancelled.cancel()
    await #expect(throws: OriginGate.Refusal.cancelled) { try await cancelled.value }
    #expect(await eventually { bench.clock.sleeperCount == 1 })
    bench.clock.advance(by: .seconds(5))
    await #expect(throws: OriginGate.Refusal.deadlineExceeded) { try await late.value }
    bench.gate.leave(inside, .success)
    bench.gate.leave(try await patient.value, .success)
    #expect(bench.gate.states == [])
    await #expect(throws: OriginGate.Refusal.cancelled) {
      let task = Task { try await bench.enter(limits) }
      task.cancel()
      let place = try await task.value
      bench.gate.leave(place, .neither)
      throw OriginGate.Refusal.cancelled
    }
    #expect(bench.gate.states == [])
  }

  @Test("one that is held lets those behind it go, keeps its place before them, and its time stands still")
  func held() async throws {
    let bench = try OriginGateBench()
    let limits = OriginLimits(concurrency: 1, queue: 2)
    let control = TransferControl()
    let inside = try await bench.enter(limits)
    let suspended = Task {
      try await bench.enter(limits, deadline: Deadline(in: .seconds(5), on: bench.clock), control: control)
    }
    await bench.waits(1)
    let behind = Task { try await bench.enter(limits) }
    await bench.waits(2)
    control.hold(at: bench.clock.monotonicNow)
    bench.clock.advance(by: .seconds(60))
    bench.gate.leave(inside, .success)
    let second = try await behind.value
    let last = Task { try await bench.enter(limits) }
    await bench.waits(1)
    control.release(at: bench.clock.monotonicNow)
    await bench.waits(2)
    bench.gate.leave(second, .success)
    bench.gate.leave(try await suspended.value, .success)
    bench.gate.leave(try await last.value, .success)
    #expect(bench.gate.states == [])
  }

  @Test("a storm of callers that come, go, hold and give up leaves nothing and lets in no more than allowed")
  func storm() async throws {
    let bench = try OriginGateBench()
    let limits = OriginLimits(concurrency: 3, queue: 1000, breaker: .init(failures: 2, openFor: .seconds(1)))
    let inside = Locked(0)
    let most = Locked(0)
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<400 {
        group.addTask {
          let control = TransferControl()
          let task = Task { try await bench.enter(limits, control: control) }
          if number % 5 == 0 { control.hold(at: bench.clock.monotonicNow) }
          await Task.yield()
          if number % 5 == 0 { control.release(at: bench.clock.monotonicNow) }
          if number % 3 == 0 { task.cancel() }
          if number % 50 == 0 { bench.clock.advance(by: .seconds(1)) }
          guard let place = try? await task.value else { return }
          let now = inside.withLock { count in
            count += 1
            return count
          }
          most.withLock { $0 = max($0, now) }
          await Task.yield()
          inside.withLock { $0 -= 1 }
          bench.gate.leave(place, number % 7 == 0 ? .failure : .success)
        }
      }
    }
    #expect(most.withLock { $0 } <= 3)
    #expect(bench.gate.states.allSatisfy { $0.inFlight == 0 && $0.waiting == 0 })
  }
}
