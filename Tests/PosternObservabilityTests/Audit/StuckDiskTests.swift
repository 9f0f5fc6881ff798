import Glibc
import PosternObservability
import PosternSupport
import PosternTestSupport
import Testing

/// A disk that does not respond, imitated by a `report` that blocks the writer's thread.
@Suite("A disk that does not answer", .timeLimit(.minutes(1)))
struct StuckDiskTests {
  /// Blocks threads until it is opened.
  private final class Gate: @unchecked Sendable {
    // Sendable because a semaphore may be used by all threads.
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    init() { sem_init(semaphore, 0, 0) }
    func wait() { while sem_wait(semaphore) != 0 {} }
    func open() { sem_post(semaphore) }
  }

  @Test(
    "counts as failing: no caller waits for ever, no operation that must be recorded starts, and the log can be closed",
    arguments: [true, false])
  func stuck(failClosed: Bool) async throws {
    let folder = try LogFolder()
    let gate = Gate()
    let log = try folder.open(maxBytes: 1, failClosed: failClosed) { event in
      if case .rotated = event { gate.wait() }
    }
    defer { gate.open() }
    // The first one fills the file and is written; the writer stays behind it.
    #expect(await log.append(folder.record(1)))
    let isRotating = await eventually {
      folder.events.withLock { $0.contains { if case .rotated = $0 { true } else { false } } }
    }
    #expect(isRotating && log.isUsable)
    let answer = Task { await log.append(folder.record(100)) }
    let clock = folder.clock
    if failClosed { #expect(await eventually { clock.sleeperCount == 1 }) }
    clock.advance(by: .seconds(6))
    #expect(await answer.value == !failClosed)
    #expect(log.condition.failure?.contains("has not answered for 6 s") == true && log.isUsable == !failClosed)
    let end = Task { await log.close() }
    #expect(await eventually { clock.sleeperCount == 1 })
    clock.advance(by: .seconds(31))
    await end.value
  }
}
