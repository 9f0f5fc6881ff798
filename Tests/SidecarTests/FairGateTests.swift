import PosternSupport
import PosternTestSupport
import Testing

@testable import Sidecar

/// Who may go, who waits, in which order, and that waiting is bounded.
@Suite("Gate of calls", .timeLimit(.minutes(1)))
struct FairGateTests {
  private struct Bench {
    let clock = ManualClock()
    let gate: FairGate
    let log = Locked<[Requester]>([])

    init(inFlight: Int, queue: Int = 100) {
      gate = FairGate(FairGate.Limits(inFlight: inFlight, queue: queue, patience: .seconds(1)), clock: clock)
    }

    func enter(_ requester: Requester, until deadline: Deadline = .never) async throws(FairGate.Refusal) {
      _ = try await gate.enter(requester, until: deadline)
      log.withLock { $0.append(requester) }
    }

    /// One that has to wait.
    func come(_ requester: Requester, until deadline: Deadline = .never) async -> Task<FairGate.Refusal?, Never> {
      let before = gate.waitingCount
      let task = Task { () -> FairGate.Refusal? in
        do throws(FairGate.Refusal) {
          try await enter(requester, until: deadline)
          return nil
        } catch {
          return error
        }
      }
      let gate = gate
      #expect(await eventually { gate.waitingCount == before + 1 })
      return task
    }
  }

  private static func one(_ uid: UInt32, _ connection: UInt64 = 1) -> Requester {
    Requester(uid: uid, connection: connection)
  }

  @Test("nobody gets all places: who has none finds one, and nothing is left behind")
  func reserve() async throws {
    let bench = Bench(inFlight: 16)
    var held: [Requester] = []
    for connection in UInt64(1)...12 {
      try await bench.enter(Self.one(1, connection))
      held.append(Self.one(1, connection))
    }
    let waiting = await bench.come(Self.one(1, 13))
    for uid in UInt32(2)...4 {
      try await bench.enter(Self.one(uid))
      held.append(Self.one(uid))
    }
    for requester in held { bench.gate.leave(requester) }
    #expect(await waiting.value == nil)
    bench.gate.leave(Self.one(1, 13))
    #expect(bench.gate.inFlightCount == 0 && bench.gate.waitingCount == 0)
  }

  @Test("a place goes to the uid that has least, then to its connection that has least, in order on each")
  func order() async throws {
    let bench = Bench(inFlight: 4)
    for connection in UInt64(1)...3 { try await bench.enter(Self.one(1, connection)) }
    try await bench.enter(Self.one(2))
    var tasks: [Task<FairGate.Refusal?, Never>] = []
    for requester in [Self.one(1, 1), Self.one(1, 1), Self.one(1, 4), Self.one(3), Self.one(2)] {
      tasks.append(await bench.come(requester))
    }
    bench.log.withLock { $0 = [] }
    for requester in [Self.one(1, 2), Self.one(1, 3), Self.one(2), Self.one(1, 1)] {
      let before = bench.log.withLock { $0.count }
      bench.gate.leave(requester)
      #expect(await eventually { bench.log.withLock { $0.count } > before })
    }
    #expect(bench.log.withLock { $0.first } == Self.one(3))
    #expect(bench.log.withLock { Set($0.prefix(3)) }.contains(Self.one(2)))
    for requester in bench.log.withLock({ $0 }) { bench.gate.leave(requester) }
    for task in tasks { #expect(await task.value == nil) }
  }

  @Test("a full queue refuses at once, and one uid cannot fill it alone")
  func full() async throws {
    let bench = Bench(inFlight: 4, queue: 4)
    for connection in UInt64(1)...3 { try await bench.enter(Self.one(1, connection)) }
    var tasks: [Task<FairGate.Refusal?, Never>] = []
    for connection in UInt64(1)...3 { tasks.append(await bench.come(Self.one(1, connection))) }
    await #expect(throws: FairGate.Refusal.full) { try await bench.enter(Self.one(1, 9)) }
    try await bench.enter(Self.one(2))
    tasks.append(await bench.come(Self.one(2)))
    await #expect(throws: FairGate.Refusal.full) { try await bench.enter(Self.one(3)) }
    for task in tasks { task.cancel() }
    for task in tasks { #expect(await task.value == .cancelled) }
    #expect(bench.gate.waitingCount == 0)
  }

  @Test("a wait ends when the time is over, its deadline has passed, or its task is cancelled; nobody loses a place")
  func ends() async throws {
    let bench = Bench(inFlight: 4)
    for connection in UInt64(1)...3 { try await bench.enter(Self.one(1, connection)) }
    let patient = await bench.come(Self.one(1, 1))
    let hurried = await bench.come(Self.one(1, 1), until: Deadline(in: .milliseconds(100), on: bench.clock))
    let cancelled = await bench.come(Self.one(1, 1))
    cancelled.cancel()
    #expect(await cancelled.value == .cancelled)
    let clock = bench.clock
    #expect(await eventually { clock.sleeperCount == 1 })
    bench.clock.advance(by: .milliseconds(200))
    #expect(await hurried.value == .deadlinePassed)
    #expect(await eventually { clock.sleeperCount == 1 })
    bench.clock.advance(by: .seconds(1))
    #expect(await patient.value == .late)
    #expect(await eventually { clock.sleeperCount == 0 })
    bench.gate.leave(Self.one(1, 1))
    try await bench.enter(Self.one(1, 1))
  }

  @Test("bounds that a reload widens let in who waits, without anybody leaving")
  func widened() async throws {
    let bench = Bench(inFlight: 4)
    for connection in UInt64(1)...3 { try await bench.enter(Self.one(1, connection)) }
    let waiting = await bench.come(Self.one(1))
    bench.gate.use(FairGate.Limits(inFlight: 8, queue: 16, patience: .seconds(1)))
    #expect(await waiting.value == nil)
    #expect(bench.gate.inFlightCount == 4 && bench.gate.waitingCount == 0)
  }
}
