import Glibc
import PosternSupport
import PosternTestSupport
import Testing

@testable import PosternRuntime

@Suite("Event loop", .timeLimit(.minutes(1)))
struct EpollLoopTests {
  /// Runs `body` on a loop, and ends the loop.
  private func withLoop(
    worker: (any LoopWorker)? = nil, _ body: @Sendable (EpollLoop) async throws -> Void
  ) async throws {
    let loop = try EpollLoop("test-loop", worker: worker)
    let result: Result<Void, any Error>
    do { result = .success(try await body(loop)) } catch { result = .failure(error) }
    loop.stop()
    loop.join()
    try result.get()
  }

  /// A connected pair of sockets, closed by the test.
  private func socketPair() throws -> (CInt, CInt) {
    var ends: [CInt] = [-1, -1]
    try #require(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &ends) == 0)
    return (ends[0], ends[1])
  }

  private final class Recorder: ReadinessHandler, @unchecked Sendable {
    // Sendable because the log has a lock, and the rest does not change.
    let log = Locked<[Readiness]>([])
    private let onReady: @Sendable (Readiness) -> Void

    init(_ onReady: @escaping @Sendable (Readiness) -> Void = { _ in }) { self.onReady = onReady }

    func ready(_ readiness: Readiness) {
      log.withLock { $0.append(readiness) }
      onReady(readiness)
    }
  }

  private func on<Value: Sendable>(_ loop: EpollLoop, _ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in loop.execute { continuation.resume(returning: body()) } }
  }

  @Test("closures run elsewhere, out of order, or get lost, whichever threads they come from")
  func closures() async throws {
    try await withLoop { loop in
      let order = Locked<[Int: [Int]]>([:])
      await withTaskGroup(of: Void.self) { group in
        for source in 0..<4 {
          group.addTask {
            for number in 0..<2000 {
              loop.execute {
                if loop.isCurrent { order.withLock { $0[source, default: []].append(number) } }
              }
            }
          }
        }
      }
      _ = await on(loop) {}
      #expect(
        order.withLock { $0 } == [0: Array(0..<2000), 1: Array(0..<2000), 2: Array(0..<2000), 3: Array(0..<2000)])
      #expect(!loop.isCurrent)
    }
  }

  @Test("a closure that was given before the end is not run, or one is taken after it")
  func end() async throws {
    let loop = try EpollLoop("test-loop")
    let count = Locked(0)
    for _ in 0..<100 { loop.execute { count.withLock { $0 += 1 } } }
    loop.stop()
    loop.join()
    #expect(count.withLock { $0 } == 100)
    #expect(!loop.execute {})
  }

  @Test("bytes, capacity for bytes and the end of the peer are not reported, or to another handler")
  func readiness() async throws {
    try await withLoop { loop in
      let (own, other) = try socketPair()
      let recorder = Recorder { _ in loop.rewatch(own, for: []) }
      try await on(loop) { Result { try loop.watch(own, for: .readable, recorder) } }.get()
      #expect(recorder.log.withLock { $0.isEmpty })
      write(other, "x", 1)
      #expect(await eventually { recorder.log.withLock { $0 == [.readable] } })
      await on(loop) { loop.rewatch(own, for: .writable) }
      #expect(await eventually { recorder.log.withLock { $0 == [.readable, .writable] } })
      close(other)
      #expect(await eventually { recorder.log.withLock { $0.count > 2 && $0[2] == .hungUp } })
      await on(loop) { loop.unwatch(own) }
      close(own)
    }
  }

  @Test("an event that was reported for a closed descriptor reaches the next one with its number")
  func staleEvent() async throws {
    try await withLoop { loop in
      let (first, firstPeer) = try socketPair()
      let (second, secondPeer) = try socketPair()
      let late = Recorder()
      // Both are ready in one iteration: whichever is handled first closes the other and takes its number.
      let closes = Locked(false)
      @Sendable func replace(_ victim: CInt) {
        guard
          closes.withLock({ isDone in
            defer { isDone = true }
            return !isDone
          })
        else { return }
        loop.unwatch(victim)
        close(victim)
        var ends: [CInt] = [-1, -1]
        _ = socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &ends)
        let reused = ends[0] == victim ? ends[0] : ends[1]
        try? loop.watch(reused, for: .readable, late)
      }
      let (one, two) = (Recorder { _ in replace(second) }, Recorder { _ in replace(first) })
      try await on(loop) {
        write(firstPeer, "x", 1)
        write(secondPeer, "x", 1)
        return Result {
          try loop.watch(first, for: .readable, one)
          try loop.watch(second, for: .readable, two)
        }
      }.get()
      #expect(await eventually { closes.withLock { $0 } })
      _ = await on(loop) {}
      _ = await on(loop) {}
      #expect(late.log.withLock { $0.isEmpty })
      for descriptor in [firstPeer, secondPeer] { close(descriptor) }
    }
  }

  @Test("a timer is not called, called too early, or called after it was cancelled")
  func timers() async throws {
    try await withLoop { loop in
      let clock = ContinuousClock()
      let start = clock.now
      let cancelled = Locked(false)
      await withCheckedContinuation { continuation in
        loop.execute {
          let other = loop.schedule(in: .milliseconds(5)) { cancelled.withLock { $0 = true } }
          loop.cancel(other)
          loop.schedule(in: .milliseconds(20)) { continuation.resume() }
        }
      }
      #expect(clock.now - start >= .milliseconds(20))
      #expect(cancelled.withLock { !$0 })
    }
  }

  private final class Counter: LoopWorker {
    let left = Locked(0)
    let hasStopped = Locked(false)

    func work() -> Bool {
      left.withLock { left in
        left = max(0, left - 1)
        return left > 0
      }
    }

    var hasWork: Bool { left.withLock { $0 > 0 } }

    func stop() { hasStopped.withLock { $0 = true } }
  }

  private final class Adder: IterationEnd {
    private let counter: Counter

    init(_ counter: Counter) { self.counter = counter }

    func endIteration() { counter.left.withLock { $0 = 3 } }
  }

  @Test("work that is added at the end of an iteration waits for something else to wake the loop")
  func lateWork() async throws {
    let counter = Counter()
    try await withLoop(worker: counter) { loop in
      _ = await on(loop) { loop.atEndOfIteration(Adder(counter)) }
      #expect(await eventually { counter.left.withLock { $0 == 0 } && !loop.isCurrent })
    }
  }

  @Test("a worker with more to do keeps the loop from its sockets, waits for them, or is not stopped at the end")
  func worker() async throws {
    let counter = Counter()
    try await withLoop(worker: counter) { loop in
      counter.left.withLock { $0 = 1_000_000_000 }
      loop.wake()
      #expect(await eventually { counter.left.withLock { $0 < 999_999_990 } })
      // Between two pieces of its work.
      _ = await on(loop) {}
      counter.left.withLock { $0 = 0 }
    }
    #expect(counter.hasStopped.withLock { $0 })
  }
}
