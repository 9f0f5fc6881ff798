import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

@testable import ResourceAccess

/// The limits of a resource's origins: which requests are sent, wait or are rejected, and that nothing is left behind.
@Suite("Limits of origins", .timeLimit(.minutes(1)))
struct OriginLimiterTests {
  @Test("those who wait go in the order in which they came, one for each that leaves")
  func order() async throws {
    let bench = try OriginLimiterBench()
    let limits = OriginLimits(concurrency: 2, queue: 10)
    let first = try await bench.enter(limits)
    let second = try await bench.enter(limits)
    let log = Locked<[(number: Int, slot: OriginLimiter.Slot)]>([])
    var tasks: [Task<Void, any Error>] = []
    for number in 0..<5 {
      tasks.append(
        Task {
          let slot = try await bench.enter(limits)
          log.withLock { $0.append((number, slot)) }
        })
      await bench.waits(number + 1)
    }
    #expect(bench.limiter.states.first?.inFlight == 2)
    // One leaves at a time: two who came in together may say so in either order.
    var inside = [first, second]
    for number in 0..<5 {
      bench.leave(inside.removeFirst(), number == 1 ? .neither : .success)
      #expect(await eventually { log.withLock { $0.count } == number + 1 })
      inside += log.withLock { $0 }.dropFirst(number).map(\.slot)
    }
    for task in tasks { try await task.value }
    for slot in inside { bench.leave(slot, .success) }
    #expect(log.withLock { $0.map(\.number) } == [0, 1, 2, 3, 4])
    #expect(bench.limiter.states == [])
  }

  @Test("a slot goes to the uid with the fewest, whatever another one has waiting")
  func fairness() async throws {
    let bench = try OriginLimiterBench()
    let limits = OriginLimits(concurrency: 1, queue: 10)
    let (busy, other) = (PeerID(uid: 1, connection: 1), PeerID(uid: 2, connection: 2))
    let inside = try await bench.enter(limits, for: busy)
    let log = Locked<[(uid: UInt32, slot: OriginLimiter.Slot)]>([])
    var tasks: [Task<Void, any Error>] = []
    // The last one raises the limit to two slots, and does not get the second one.
    for (peerID, concurrency) in [(busy, 1), (busy, 1), (busy, 1), (other, 1), (busy, 2)] {
      tasks.append(
        Task {
          let slot = try await bench.enter(OriginLimits(concurrency: concurrency, queue: 10), for: peerID)
          log.withLock { $0.append((peerID.uid, slot)) }
        })
      await bench.waits(concurrency == 1 ? tasks.count : 4)
    }
    #expect(await eventually { log.withLock { $0.map(\.uid) } == [2] })
    bench.leave(inside, .success)
    #expect(await eventually { log.withLock { $0.map(\.uid) } == [2, 1] })
    for number in tasks.indices {
      #expect(await eventually { log.withLock { $0.count } > number })
      if let slot = log.withLock({ $0.dropFirst(number).first?.slot }) { bench.leave(slot, .success) }
    }
    for task in tasks { try await task.value }
    #expect(bench.limiter.states == [])
  }

  /// Would catch: with one slot, a uid whose whole queue is served before any other uid.
  @Test("among uids with as many slots, they are served in rotation")
  func rotation() async throws {
    let bench = try OriginLimiterBench()
    let limits = OriginLimits(concurrency: 1, queue: 10)
    let inside = try await bench.enter(limits, for: Self.alice)
    let log = Locked<[OriginLimiter.Slot]>([])
    let order = Locked<[Int]>([])
    var tasks: [Task<Void, any Error>] = []
    for (number, peerID) in [Self.alice, Self.alice, Self.alice, Self.bob, Self.bob].enumerated() {
      tasks.append(
        Task {
          let slot = try await bench.enter(limits, for: peerID)
          order.withLock { $0.append(number) }
          log.withLock { $0.append(slot) }
        })
      await bench.waits(number + 1)
    }
    bench.leave(inside, .success)
    for number in tasks.indices {
      #expect(await eventually { log.withLock { $0.count } > number })
      if let slot = log.withLock({ $0.last }) { bench.leave(slot, .success) }
    }
    for task in tasks { try await task.value }
    #expect(order.withLock { $0 } == [0, 3, 1, 4, 2])
    #expect(bench.limiter.states == [])
  }

  private static let (alice, bob) = (PeerID(uid: 1, connection: 1), PeerID(uid: 2, connection: 2))
  private static let (carol, dave) = (PeerID(uid: 3, connection: 3), PeerID(uid: 4, connection: 4))

  /// Would catch: a uid alone that may not use all slots, one that keeps a slot from others for ever, or more slots in
  /// addition to them than the limit.
  @Test("slots in use for too long do not count for uids without a slot; a uid alone may use all, and never more")
  func lasting() async throws {
    let bench = try OriginLimiterBench()
    let limits = OriginLimits(concurrency: 2, queue: 10, patience: .seconds(15))
    var slots = [try await bench.enter(limits, for: Self.alice), try await bench.enter(limits, for: Self.alice)]
    let more = Task { try await bench.enter(limits, for: Self.alice) }
    await bench.waits(1)
    bench.clock.advance(by: .seconds(5))
    let waiting = Task { try await bench.enter(limits, for: Self.bob) }
    await bench.waits(2)
    #expect(await eventually { bench.clock.sleeperCount == 2 })
    bench.clock.advance(by: .seconds(15))
    slots.append(try await waiting.value)
    // In addition to the two long ones there are two slots at once, for one of each uid.
    slots.append(try await bench.enter(limits, for: Self.carol))
    let last = Task { try await bench.enter(limits, for: Self.dave) }
    await bench.waits(2)
    let second = Task { try await bench.enter(limits, for: Self.carol) }
    await bench.waits(3)
    #expect(bench.limiter.states.first?.inFlight == 4)
    bench.leave(slots.removeLast(), .success)
    slots.append(try await last.value)
    for task in [more, second] { task.cancel() }
    for task in [more, second] { await #expect(throws: OriginLimiter.Rejection.cancelled) { try await task.value } }
    for slot in slots { bench.leave(slot, .success) }
    #expect(bench.limiter.states == [])
  }

  /// Would catch: a slot that overflows twice because another one than that given back is removed.
  @Test("a slot that was given back does not overflow any more")
  func lentOnce() async throws {
    let bench = try OriginLimiterBench()
    let limits = OriginLimits(concurrency: 1, queue: 0, patience: .seconds(15))
    let first = try await bench.enter(limits, for: Self.alice)
    await #expect(throws: OriginLimiter.Rejection.full) { try await bench.enter(limits, for: Self.bob) }
    bench.clock.advance(by: .seconds(15))
    let second = try await bench.enter(limits, for: Self.bob)
    await #expect(throws: OriginLimiter.Rejection.full) { try await bench.enter(limits, for: Self.carol) }
    bench.leave(first, .success)
    await #expect(throws: OriginLimiter.Rejection.full) { try await bench.enter(limits, for: Self.alice) }
    bench.leave(second, .success)
    bench.leave(try await bench.enter(limits, for: Self.alice), .success)
    #expect(bench.limiter.states == [])
  }

  /// Would catch: a uid that fills the queue and has all others rejected, or two that displace each other alternately.
  @Test("a full queue accepts a uid that has fewer there: the last of the uid that has the most is rejected instead")
  func shares() async throws {
    let bench = try OriginLimiterBench()
    let limits = OriginLimits(concurrency: 1, queue: 4)
    let inside = try await bench.enter(limits, for: Self.alice)
    var tasks: [Task<OriginLimiter.Slot, any Error>] = []
    for number in 1...4 {
      tasks.append(Task { try await bench.enter(limits, for: Self.alice) })
      await bench.waits(number)
    }
    await #expect(throws: OriginLimiter.Rejection.full) { try await bench.enter(limits, for: Self.alice) }
    for last in [3, 2] {
      tasks.append(Task { try await bench.enter(limits, for: Self.bob) })
      let displaced = tasks.remove(at: last)
      await #expect(throws: OriginLimiter.Rejection.full) { try await displaced.value }
    }
    for peerID in [Self.alice, Self.bob] {
      await #expect(throws: OriginLimiter.Rejection.full) { try await bench.enter(limits, for: peerID) }
    }
    await bench.waits(4)
    for task in tasks { task.cancel() }
    for task in tasks { await #expect(throws: OriginLimiter.Rejection.cancelled) { try await task.value } }
    bench.leave(inside, .success)
    #expect(bench.limiter.states == [])
  }

  /// Would catch: a uid whose requests fail, by the path that they ask for, and that has the origin taken from all
  /// others.
  @Test("a breaker is one uid's: another one's requests go on, also those that wait")
  func breakers() async throws {
    let bench = try OriginLimiterBench()
    let limits = OriginLimits(concurrency: 1, queue: 4, breaker: .init(failures: 2, openFor: .seconds(30)))
    bench.leave(try await bench.enter(limits, for: Self.alice), .failure)
    let failing = try await bench.enter(limits, for: Self.alice)
    let rejected = Task { try await bench.enter(limits, for: Self.alice) }
    await bench.waits(1)
    let waiting = Task { try await bench.enter(limits, for: Self.bob) }
    await bench.waits(2)
    bench.leave(failing, .failure)
    await #expect(throws: OriginLimiter.Rejection.open(.seconds(30))) { try await rejected.value }
    bench.leave(try await waiting.value, .success)
    #expect(bench.limiter.states.first?.circuit == .open)
    await #expect(throws: OriginLimiter.Rejection.open(.seconds(30))) { try await bench.enter(limits, for: Self.alice) }
    bench.clock.advance(by: .seconds(30))
    let probe = try await bench.enter(limits, for: Self.alice)
    #expect(bench.limiter.states.first?.circuit == .halfOpen)
    bench.leave(probe, .success)
    #expect(bench.limiter.states == [])
  }

  /// Would catch: a breaker kept for each of any number of uids.
  @Test("breakers of any number of uids take bounded memory, and a uid without one is not rejected")
  func boundedBreakers() {
    let now = MonotonicInstant(nanoseconds: 0)
    let rule = OriginLimits.Breaker(failures: 1, openFor: .seconds(30))
    var breakers = OriginBreakers()
    let all = 0..<UInt32(OriginBreakers.bound + 100)
    for uid in all { _ = breakers.end(uid, .failure, isProbe: false, at: now, rule) }
    #expect(all.filter { breakers.openTime(of: $0, at: now, rule) != nil }.count == OriginBreakers.bound)
  }

  @Test("a request at a full queue is rejected at once, and that is counted")
  func full() async throws {
    let bench = try OriginLimiterBench()
    let limits = OriginLimits(concurrency: 1, queue: 1)
    let inside = try await bench.enter(limits)
    let waiting = Task { try await bench.enter(limits) }
    await bench.waits(1)
    await #expect(throws: OriginLimiter.Rejection.full) { try await bench.enter(limits) }
    bench.leave(inside, .success)
    bench.leave(try await waiting.value, .success)
    #expect(bench.observer.events.count == 1)
  }

  @Test("a wait ends with its task, and with its deadline, and the next in line is not harmed")
  func givingUp() async throws {
    let bench = try OriginLimiterBench()
    let limits = OriginLimits(concurrency: 1, queue: 10)
    let inside = try await bench.enter(limits)
    let cancelled = Task { try await bench.enter(limits) }
    await bench.waits(1)
    let late = Task { try await bench.enter(limits, deadline: Deadline(in: .seconds(5), on: bench.clock)) }
    await bench.waits(2)
    let patient = Task { try await bench.enter(limits) }
    await bench.waits(3)
    cancelled.cancel()
    await #expect(throws: OriginLimiter.Rejection.cancelled) { try await cancelled.value }
    #expect(await eventually { bench.clock.sleeperCount == 1 })
    bench.clock.advance(by: .seconds(5))
    await #expect(throws: OriginLimiter.Rejection.deadlineExceeded) { try await late.value }
    bench.leave(inside, .success)
    bench.leave(try await patient.value, .success)
    #expect(bench.limiter.states == [])
    await #expect(throws: OriginLimiter.Rejection.cancelled) {
      let task = Task { try await bench.enter(limits) }
      task.cancel()
      let slot = try await task.value
      bench.leave(slot, .neither)
      throw OriginLimiter.Rejection.cancelled
    }
    #expect(bench.limiter.states == [])
  }

  @Test("a paused request lets those behind it run, keeps its position before them, and its time stops")
  func paused() async throws {
    let bench = try OriginLimiterBench()
    let limits = OriginLimits(concurrency: 1, queue: 2)
    let control = TransferControl()
    let inside = try await bench.enter(limits)
    let suspended = Task {
      try await bench.enter(limits, deadline: Deadline(in: .seconds(5), on: bench.clock), control: control)
    }
    await bench.waits(1)
    let behind = Task { try await bench.enter(limits) }
    await bench.waits(2)
    control.pause(at: bench.clock.monotonicNow)
    bench.clock.advance(by: .seconds(60))
    bench.leave(inside, .success)
    let second = try await behind.value
    let last = Task { try await bench.enter(limits) }
    await bench.waits(1)
    control.resume(at: bench.clock.monotonicNow)
    await bench.waits(2)
    bench.leave(second, .success)
    bench.leave(try await suspended.value, .success)
    bench.leave(try await last.value, .success)
    #expect(bench.limiter.states == [])
  }

  @Test("a storm of callers that come, go, hold and give up leaves nothing and lets in no more than allowed")
  func storm() async throws {
    let bench = try OriginLimiterBench()
    let limits = OriginLimits(concurrency: 3, queue: 1000, breaker: .init(failures: 2, openFor: .seconds(1)))
    let inside = Locked(0)
    let most = Locked(0)
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<400 {
        group.addTask {
          let control = TransferControl()
          let task = Task { try await bench.enter(limits, control: control) }
          if number % 5 == 0 { control.pause(at: bench.clock.monotonicNow) }
          await Task.yield()
          if number % 5 == 0 { control.resume(at: bench.clock.monotonicNow) }
          if number % 3 == 0 { task.cancel() }
          if number % 50 == 0 { bench.clock.advance(by: .seconds(1)) }
          guard let slot = try? await task.value else { return }
          let now = inside.withLock { count in
            count += 1
            return count
          }
          most.withLock { $0 = max($0, now) }
          await Task.yield()
          inside.withLock { $0 -= 1 }
          bench.leave(slot, number % 7 == 0 ? .failure : .success)
        }
      }
    }
    #expect(most.withLock { $0 } <= 3)
    #expect(bench.limiter.states.allSatisfy { $0.inFlight == 0 && $0.waiting == 0 })
  }
}
