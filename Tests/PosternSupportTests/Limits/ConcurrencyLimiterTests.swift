import PosternSupport
import PosternTestSupport
import Testing

/// The asynchronous front: every wait ends, and no slot is lost. The order is in `ConcurrencyLimiterStateTests`.
@Suite("Concurrency limiter", .timeLimit(.minutes(1)))
struct ConcurrencyLimiterTests {
  private struct Bench {
    let clock = ManualClock()
    let limiter: ConcurrencyLimiter
    let log = Locked<[PeerID]>([])

    init(inFlight: Int, queue: Int = 100) {
      limiter = ConcurrencyLimiter(
        ConcurrencyLimiter.Limits(capacity: inFlight, queue: queue, queueTime: .seconds(1)), clock: clock)
    }

    func enter(_ peerID: PeerID, until deadline: Deadline = .never) async throws(ConcurrencyLimiter.Rejection) {
      _ = try await limiter.enter(peerID, until: deadline)
      log.withLock { $0.append(peerID) }
    }

    /// Starts an operation that has to wait.
    func wait(_ peerID: PeerID, until deadline: Deadline = .never) async -> Task<ConcurrencyLimiter.Rejection?, Never> {
      let before = limiter.waitingCount
      let task = Task { () -> ConcurrencyLimiter.Rejection? in
        do throws(ConcurrencyLimiter.Rejection) {
          try await enter(peerID, until: deadline)
          return nil
        } catch {
          return error
        }
      }
      let limiter = limiter
      #expect(await eventually { limiter.waitingCount == before + 1 })
      return task
    }
  }

  private static func one(_ uid: UInt32, _ connection: UInt64 = 1) -> PeerID {
    PeerID(uid: uid, connection: connection)
  }

  @Test("one uid gets all slots, or something is left when all have left")
  func reserve() async throws {
    let bench = Bench(inFlight: 16)
    var running: [PeerID] = []
    for connection in UInt64(1)...12 {
      try await bench.enter(Self.one(1, connection))
      running.append(Self.one(1, connection))
    }
    let waiting = await bench.wait(Self.one(1, 13))
    for uid in UInt32(2)...4 {
      try await bench.enter(Self.one(uid))
      running.append(Self.one(uid))
    }
    for peerID in running { bench.limiter.leave(peerID) }
    #expect(await waiting.value == nil)
    bench.limiter.leave(Self.one(1, 13))
    #expect(bench.limiter.inFlightCount == 0 && bench.limiter.waitingCount == 0)
  }

  @Test("a slot goes to another uid, or another connection, than the one with the fewest")
  func order() async throws {
    let bench = Bench(inFlight: 4)
    for connection in UInt64(1)...3 { try await bench.enter(Self.one(1, connection)) }
    try await bench.enter(Self.one(2))
    var tasks: [Task<ConcurrencyLimiter.Rejection?, Never>] = []
    for peerID in [Self.one(1, 1), Self.one(1, 1), Self.one(1, 4), Self.one(3), Self.one(2)] {
      tasks.append(await bench.wait(peerID))
    }
    bench.log.withLock { $0 = [] }
    for peerID in [Self.one(1, 2), Self.one(1, 3), Self.one(2), Self.one(1, 1)] {
      let before = bench.log.withLock { $0.count }
      bench.limiter.leave(peerID)
      #expect(await eventually { bench.log.withLock { $0.count } > before })
    }
    #expect(bench.log.withLock { $0.first } == Self.one(3))
    #expect(bench.log.withLock { Set($0.prefix(3)) }.contains(Self.one(2)))
    for peerID in bench.log.withLock({ $0 }) { bench.limiter.leave(peerID) }
    for task in tasks { #expect(await task.value == nil) }
  }

  @Test("a full queue does not reject at once, or one uid fills it")
  func full() async throws {
    let bench = Bench(inFlight: 4, queue: 4)
    for connection in UInt64(1)...3 { try await bench.enter(Self.one(1, connection)) }
    var tasks: [Task<ConcurrencyLimiter.Rejection?, Never>] = []
    for connection in UInt64(1)...3 { tasks.append(await bench.wait(Self.one(1, connection))) }
    await #expect(throws: ConcurrencyLimiter.Rejection.queueFull) { try await bench.enter(Self.one(1, 9)) }
    try await bench.enter(Self.one(2))
    tasks.append(await bench.wait(Self.one(2)))
    await #expect(throws: ConcurrencyLimiter.Rejection.queueFull) { try await bench.enter(Self.one(3)) }
    for task in tasks { task.cancel() }
    for task in tasks { #expect(await task.value == .cancelled) }
    #expect(bench.limiter.waitingCount == 0)
  }

  @Test("a wait outlasts its queue time, its deadline or its task, or takes a slot with it")
  func ends() async throws {
    let bench = Bench(inFlight: 4)
    for connection in UInt64(1)...3 { try await bench.enter(Self.one(1, connection)) }
    let patient = await bench.wait(Self.one(1, 1))
    let hurried = await bench.wait(Self.one(1, 1), until: Deadline(in: .milliseconds(100), on: bench.clock))
    let cancelled = await bench.wait(Self.one(1, 1))
    cancelled.cancel()
    #expect(await cancelled.value == .cancelled)
    let clock = bench.clock
    #expect(await eventually { clock.sleeperCount == 1 })
    bench.clock.advance(by: .milliseconds(200))
    #expect(await hurried.value == .deadlineExceeded)
    #expect(await eventually { clock.sleeperCount == 1 })
    bench.clock.advance(by: .seconds(1))
    #expect(await patient.value == .queueTimeExceeded)
    #expect(await eventually { clock.sleeperCount == 0 })
    bench.limiter.leave(Self.one(1, 1))
    try await bench.enter(Self.one(1, 1))
  }

  @Test("waiters do not notice that a reload has raised the limits")
  func widened() async throws {
    let bench = Bench(inFlight: 4)
    for connection in UInt64(1)...3 { try await bench.enter(Self.one(1, connection)) }
    let waiting = await bench.wait(Self.one(1))
    bench.limiter.use(ConcurrencyLimiter.Limits(capacity: 8, queue: 16, queueTime: .seconds(1)))
    #expect(await waiting.value == nil)
    #expect(bench.limiter.inFlightCount == 4 && bench.limiter.waitingCount == 0)
  }

  @Test("a wake-up is lost, a slot leaks or the limit is passed when many tasks enter, leave and are cancelled at once")
  func storm() async throws {
    let bench = Bench(inFlight: 4, queue: 1000)
    let (running, most) = (Locked(0), Locked(0))
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<400 {
        group.addTask {
          let peer = Self.one(UInt32(number % 5), UInt64(number % 7))
          let task = Task { try await bench.enter(peer) }
          if number % 3 == 0 { task.cancel() }
          guard (try? await task.value) != nil else { return }
          let now = running.withLock { count in
            count += 1
            return count
          }
          most.withLock { $0 = max($0, now) }
          await Task.yield()
          running.withLock { $0 -= 1 }
          bench.limiter.leave(peer)
        }
      }
    }
    #expect(most.withLock { $0 } <= 4)
    #expect(bench.limiter.inFlightCount == 0 && bench.limiter.waitingCount == 0)
  }
}
