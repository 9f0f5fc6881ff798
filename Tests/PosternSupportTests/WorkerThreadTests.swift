import PosternTestSupport
import Testing

@testable import PosternSupport

@Suite("A thread with an inbox", .timeLimit(.minutes(1)))
struct WorkerThreadTests {
  private static let writers = 4
  private static let perWriter = 200

  /// What the threads of one run did.
  private struct Done: Sendable {
    var jobs: [Int] = []
    var endedThreads = 0
  }

  /// Starts `threads` threads that do all jobs of `worker`; one of them stops it after the job `last`.
  private func start(
    _ threads: Int, of worker: WorkerThread<[Int]>, stoppingAfter last: Int? = nil
  ) throws -> Locked<Done> {
    let done = Locked(Done())
    for _ in 0..<threads {
      try worker.start("test-worker") {
        while let job = worker.next({ $0.isEmpty ? nil : $0.removeFirst() }) {
          done.withLock { $0.jobs.append(job) }
          if job == last { worker.stop() }
        }
        done.withLock { $0.endedThreads += 1 }
      }
    }
    return done
  }

  /// Submits the jobs of one writer; returns those that were accepted.
  private func submit(_ writer: Int, to worker: WorkerThread<[Int]>, _ random: SeededGenerator) async -> [Int] {
    var random = random
    var accepted: [Int] = []
    for job in (0..<Self.perWriter).map({ writer * Self.perWriter + $0 }) {
      if Int.random(in: 0..<8, using: &random) == 0 { await Task.yield() }
      if worker.submit({ $0.append(job) }) != nil { accepted.append(job) }
    }
    return accepted
  }

  @Test(
    "does each accepted job once, in order, and no other, whenever it is stopped", arguments: 0..<60 as Range<UInt64>)
  func jobs(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let threads = Int.random(in: 1...3, using: &random)
    let stopsFromWithin = Bool.random(using: &random)
    let last = Int.random(in: 0..<Self.writers * Self.perWriter, using: &random)
    let startsLate = Bool.random(using: &random)
    let worker = WorkerThread([Int]())
    var done: Locked<Done>?
    if !startsLate { done = try start(threads, of: worker, stoppingAfter: stopsFromWithin ? last : nil) }
    let seeds = (0..<Self.writers).map { _ in random.next() }
    let accepted = await withTaskGroup(of: [Int].self) { group in
      for (writer, seed) in seeds.enumerated() {
        group.addTask { await submit(writer, to: worker, SeededGenerator(seed: seed)) }
      }
      if !stopsFromWithin {
        group.addTask {
          for _ in 0..<last % 50 { await Task.yield() }
          worker.stop()
          return []
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    let finished = try done ?? start(threads, of: worker)
    worker.stop()
    #expect(worker.submit { $0.append(-1) } == nil)
    await worker.join()
    // Each thread noted its end before `join` returned.
    let result = finished.withLock { $0 }
    #expect(result.endedThreads == threads)
    #expect(result.jobs.sorted() == accepted.flatMap { $0 }.sorted())
    guard threads == 1 else { return }
    for jobs in accepted {
      #expect(result.jobs.filter { jobs.first.map { $0 / Self.perWriter } == $0 / Self.perWriter } == jobs)
    }
  }

  @Test("a stop that clears the inbox leaves nothing to do; one that adds a job leaves that")
  func lastChange() async throws {
    for last in [[], [7]] {
      let worker = WorkerThread([Int]())
      for job in 1...3 { worker.submit { $0.append(job) } }
      worker.stop { $0 = last }
      let done = try start(1, of: worker)
      await worker.join()
      #expect(done.withLock { $0.jobs } == last)
      // What is only read, or settled, is still possible.
      #expect(worker.withInbox { $0.isEmpty })
    }
  }

  @Test("waits no longer than it is told to, and takes what is there without waiting")
  func limit() {
    let worker = WorkerThread([Int]())
    #expect(worker.next(within: .zero) { $0.popLast() } == nil)
    #expect(worker.next(within: .milliseconds(-5)) { $0.popLast() } == nil)
    worker.submit { $0.append(1) }
    #expect(worker.next(within: .zero) { $0.popLast() } == 1)
    worker.stop()
    #expect(worker.next { $0.popLast() } == nil)
  }

  @Test("join returns at once if there is no thread, and for each who waits")
  func join() async throws {
    let worker = WorkerThread([Int]())
    await worker.join()
    _ = try start(2, of: worker)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<5 { group.addTask { await worker.join() } }
      group.addTask { worker.stop() }
    }
    await worker.join()
  }
}
