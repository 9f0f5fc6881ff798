import PosternSupport
import PosternTestSupport
import Testing

@Suite("SingleFlight runs an operation once for all waiters")
struct SingleFlightTests {
  enum Failure: Error, Equatable {
    case rejected
    case left(EndedWait)
  }

  typealias Flights = SingleFlight<String, Int, Failure>

  @Test("two hundred callers make one run and get one value")
  func sharesOneRun() async throws {
    let flights = Flights(clock: ManualClock(), failure: Failure.left)
    let gate = Gate()
    let runs = Locked(0)
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<200 {
        group.addTask {
          try await flights.value(for: "key") { () async throws(Failure) in
            await gate.pass()
            return runs.withLock { runs in
              runs += 1
              return runs
            }
          }
        }
      }
      #expect(await eventually { flights.waiterCount(for: "key") == 200 })
      gate.open()
      for try await value in group { #expect(value == 1) }
    }
    #expect(flights.waiterCount(for: "key") == nil)
  }

  @Test("what one uid's calls start runs before everybody's run, or that waits behind one uid's work")
  func shares() async throws {
    let executor = ManualExecutor()
    let own = Flights(clock: ManualClock(), failure: Failure.left)
    let shared = Flights(clock: ManualClock(), servesEverybody: true, failure: Failure.left)
    let run: @Sendable () async throws(Failure) -> Int = { 1 }
    #expect(try await shared.value(for: "key", on: executor, run) == 1)
    #expect(executor.count == 0)
    let waiter = Task { try await own.value(for: "key", on: executor, run) }
    #expect(await eventually { executor.count > 0 })
    while own.waiterCount(for: "key") != nil {
      _ = executor.runOne()
      await Task.yield()
    }
    #expect(try await waiter.value == 1)
  }

  @Test("a failed run fails all its waiters, and the next caller starts another")
  func failureIsSharedAndNotKept() async throws {
    let flights = Flights(clock: ManualClock(), failure: Failure.left)
    await #expect(throws: Failure.rejected) {
      try await flights.value(for: "key") { () async throws(Failure) -> Int in throw .rejected }
    }
    #expect(try await flights.value(for: "key") { 2 } == 2)
  }

  @Test("cancelling the caller that began the run ends its wait only")
  func cancellationIsIndividual() async throws {
    let flights = Flights(clock: ManualClock(), failure: Failure.left)
    let gate = Gate()
    let first = Task {
      try await flights.value(for: "key") { () async throws(Failure) in
        await gate.pass()
        return Task.isCancelled ? -1 : 7
      }
    }
    #expect(await eventually { gate.waiterCount == 1 })
    let second = Task { try await flights.value(for: "key") { 99 } }
    #expect(await eventually { flights.waiterCount(for: "key") == 2 })
    first.cancel()
    await #expect(throws: Failure.left(.cancelled)) { try await first.value }
    gate.open()
    #expect(try await second.value == 7, "the run itself is not cancelled")
  }

  @Test("the run is completed when no caller waits any more")
  func runsToTheEndAlone() async throws {
    let flights = Flights(clock: ManualClock(), failure: Failure.left)
    let gate = Gate()
    let ended = Locked(false)
    let only = Task {
      try await flights.value(for: "key") { () async throws(Failure) in
        await gate.pass()
        ended.withLock { $0 = true }
        return 1
      }
    }
    #expect(await eventually { gate.waiterCount == 1 })
    only.cancel()
    _ = try? await only.value
    #expect(flights.waiterCount(for: "key") == 0)
    gate.open()
    #expect(await eventually { ended.withLock { $0 } && flights.waiterCount(for: "key") == nil })
  }

  @Test("a task that is cancelled already does not even begin a run")
  func cancelledBefore() async {
    let flights = Flights(clock: ManualClock(), failure: Failure.left)
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await flights.value(for: "key") { 1 }
    }
    _ = try? await task.value
    #expect(flights.waiterCount(for: "key") == nil)
  }

  @Test("each waiter has a deadline of its own")
  func deadlines() async throws {
    let clock = ManualClock()
    let flights = Flights(clock: clock, failure: Failure.left)
    let gate = Gate()
    let patient = Task {
      try await flights.value(for: "key", deadline: Deadline(in: .seconds(10), on: clock)) {
        () async throws(Failure) in
        await gate.pass()
        return 1
      }
    }
    let hasty = Task {
      try await flights.value(for: "key", deadline: Deadline(in: .seconds(1), on: clock)) { () async throws(Failure) in
        await gate.pass()
        return 1
      }
    }
    #expect(await eventually { flights.waiterCount(for: "key") == 2 && clock.sleeperCount == 2 })
    clock.advance(by: .seconds(2))
    await #expect(throws: Failure.left(.deadlineExceeded)) { try await hasty.value }
    gate.open()
    #expect(try await patient.value == 1)
    #expect(await eventually { clock.sleeperCount == 0 }, "no timer outlives its waiter")
  }

  @Test("a deadline that has passed is reported at once")
  func deadlinePassed() async {
    let clock = ManualClock()
    let flights = Flights(clock: clock, failure: Failure.left)
    let deadline = Deadline(instant: clock.monotonicNow)
    await #expect(throws: Failure.left(.deadlineExceeded)) {
      try await flights.value(for: "k", deadline: deadline) { 1 }
    }
  }

  @Test("waiters that come, are cancelled and time out at random each end exactly once")
  func churn() async {
    let clock = ManualClock()
    let flights = Flights(clock: clock, failure: Failure.left)
    let ended = await withTaskGroup(of: Int.self) { group in
      for number in 0..<500 {
        group.addTask {
          let task = Task {
            try await flights.value(for: "key \(number % 3)", deadline: Deadline(in: .milliseconds(50), on: clock)) {
              for _ in 0..<(number % 7) { await Task.yield() }
              return number
            }
          }
          if number % 2 == 0 { task.cancel() }
          if number % 5 == 0 { clock.advance(by: .milliseconds(20)) }
          _ = try? await task.value
          return 1
        }
      }
      return await group.reduce(0, +)
    }
    #expect(ended == 500)
  }
}

@Suite("SingleFlight with runs that end with their last waiter")
struct AbandonedRunTests {
  @Test("a run goes on while a caller waits, and is cancelled without one; the next caller gets a run of its own")
  func abandoned() async throws {
    let flights = SingleFlight<String, Int, EndedWait>(clock: ManualClock(), cancelsAbandonedRuns: true) { $0 }
    let gate = Gate()
    let ends = Locked<[Bool]>([])
    let cancelled = Locked(0)
    let begin = { @Sendable in
      Task {
        try await flights.value(for: "key") {
          await withTaskCancellationHandler {
            await gate.pass()
          } onCancel: {
            cancelled.withLock { $0 += 1 }
          }
          ends.withLock { $0.append(Task.isCancelled) }
          return 1
        }
      }
    }
    let (first, second) = (begin(), begin())
    #expect(await eventually { flights.waiterCount(for: "key") == 2 })
    first.cancel()
    #expect(await eventually { flights.waiterCount(for: "key") == 1 })
    second.cancel()
    #expect(await eventually { flights.waiterCount(for: "key") == nil })
    let third = begin()
    #expect(await eventually { gate.waiterCount == 2 })
    // An abandoned run is cancelled by the caller that started it, perhaps only now.
    #expect(await eventually { cancelled.withLock { $0 } == 1 })
    gate.open()
    #expect(try await third.value == 1)
    #expect(await eventually { ends.withLock { $0.count } == 2 })
    #expect(ends.withLock { Set($0) } == [true, false])
  }
}
