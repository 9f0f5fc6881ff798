import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

@Suite("Where bodies are encrypted and decrypted", .bothWays)
struct LongWorkTests {
  /// Counts what it is given to do.
  private final class CountingExecutor: TaskExecutor {
    private let jobs = Locked(0)
    var count: Int { jobs.withLock { $0 } }

    func enqueue(_ job: consuming ExecutorJob) {
      jobs.withLock { $0 += 1 }
      let job = UnownedJob(job)
      #expect(throws: Never.self) {
        try SystemThread.start("test") { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
      }
    }
  }

  @Test(
    "a long body is encrypted or decrypted on the thread that serves the caller's connection, or a short one takes the way round",
    arguments: [(1000, 10, 1), (10, 1000, 1), (1000, 1000, 2), (10, 10, 0)])
  func aside(row: (sent: Int, received: Int, jobs: Int)) async throws {
    let resource = try EncryptedResource()
    let text = String(repeating: "x", count: row.received)
    let answer = EncryptedResource.answer(try resource.token(text))
    let engine = Engine { _, _ in answer }
    let executor = CountingExecutor()
    var options = FetchOptions()
    options.longWork = LongWork(from: 900) { executor }
    let request = ResourceRequest(path: "x", method: "POST", body: [UInt8](repeating: 1, count: row.sent))
    let response = try await engine.fetcher.fetch(request, from: resource.server(), options: options)
    #expect(response.body == Array(text.utf8))
    #expect(executor.count == row.jobs)
    let sent = try #require(engine.transport.requests.first)
    #expect(try resource.read(sent).body.count == row.sent)
  }
}
