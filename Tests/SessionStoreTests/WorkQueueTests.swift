import AuthEngine
import Testing

@testable import SessionStore

@Suite("The queue of a store's thread")
struct WorkQueueTests {
  @Test("a queue grows without bound, loses an item, or never ends")
  func boundsAndEnds() async {
    let queue = WorkQueue<Int>(capacity: 3)
    for number in 1...3 { #expect(queue.submit(number) == nil) }
    #expect(queue.submit(4)?.kind == .unavailable)
    #expect(queue.next(atMost: 2) == [1, 2])
    #expect(queue.submit(4) == nil)
    queue.close()
    queue.close()
    #expect(queue.submit(5)?.kind == .unavailable)
    #expect(queue.next(atMost: 10) == [3, 4])
    #expect(queue.next(atMost: 10) == nil)
    #expect(queue.end().isEmpty)
    await queue.closeAndWait()
  }

  @Test("what many threads submit at once is lost or done twice")
  func concurrent() async throws {
    let queue = WorkQueue<Int>(capacity: 100_000)
    let sum = await withUnsafeContinuation { (continuation: UnsafeContinuation<Int, Never>) in
      try? StoreThread.start("test-queue") {
        var sum = 0
        while let items = queue.next(atMost: 7) { sum += items.reduce(0, +) }
        _ = queue.end()
        continuation.resume(returning: sum)
      }
      Task {
        await withTaskGroup(of: Void.self) { group in
          for writer in 0..<8 {
            group.addTask { for step in 0..<1000 { _ = queue.submit(writer * 1000 + step) } }
          }
        }
        await queue.closeAndWait()
      }
    }
    #expect(sum == (0..<8000).reduce(0, +))
  }
}
