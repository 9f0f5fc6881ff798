import PosternSupport
import SessionRecords
import Testing

@testable import SessionStore

@Suite("The queue of a store's thread")
struct WorkQueueTests {
  @Test("a queue grows without bound, loses an item, or never ends")
  func boundsAndEnds() async {
    let queue = WorkQueue<Int>(capacity: 3)
    for number in 1...3 { #expect(queue.submit(number, of: 1) == nil) }
    #expect(queue.submit(4, of: 1)?.kind == .unavailable)
    #expect(queue.next(atMost: 2) == [1, 2])
    #expect(queue.submit(4, of: 1) == nil)
    queue.close()
    queue.close()
    #expect(queue.submit(5, of: 1)?.kind == .unavailable)
    #expect(queue.next(atMost: 10) == [3, 4])
    #expect(queue.next(atMost: 10) == nil)
    #expect(queue.end().isEmpty)
    await queue.closeAndWait()
  }

  /// Would catch: another user's login that fails because the store is full of one user's calls.
  @Test("one user fills the queue, or the process has a share like one")
  func shares() {
    let queue = WorkQueue<Int>(capacity: 100)
    var taken = 0
    while taken < 100, queue.submit(taken, of: 1) == nil { taken += 1 }
    #expect(taken == 75)
    #expect(queue.submit(0, of: 1)?.isOutage == false)
    for number in 0..<10 { #expect(queue.submit(number, of: 2) == nil) }
    // Positions that are free again belong to all, and the last ones are the process's.
    for number in 0..<15 { #expect(queue.submit(number, of: PeerID.process.uid) == nil) }
    #expect(queue.submit(0, of: 3) != nil)
    _ = queue.next(atMost: 50)
    #expect(queue.submit(0, of: 3) == nil && queue.submit(0, of: 1) == nil)
  }

  @Test("earlier work of one user delays all later work of another")
  func rotation() {
    let queue = WorkQueue<String>(capacity: 1000)
    for number in 0..<100 { _ = queue.submit("a\(number)", of: 1) }
    _ = queue.submit("b", of: 2)
    _ = queue.submit("list", of: 3, cost: 50)
    for number in 0..<3 { _ = queue.submit("c\(number)", of: 3) }
    let first = queue.next(atMost: 4) ?? []
    #expect(first.contains("b") && first.contains("list"))
    // Expensive work moves the user back in the rotation.
    let second = queue.next(atMost: 40) ?? []
    #expect(second.allSatisfy { $0.hasPrefix("a") })
    // Nothing is lost, and what is one user's stays in order.
    let rest = first + second + (queue.next(atMost: 1000) ?? [])
    #expect(rest.count == 105)
    #expect(rest.filter { $0.hasPrefix("a") } == (0..<100).map { "a\($0)" })
    #expect(rest.filter { $0.hasPrefix("c") } == ["c0", "c1", "c2"])
  }

  @Test("large work is taken as if it were small: the next user waits for all of it at once")
  func batches() {
    let queue = WorkQueue<Int>(capacity: 1000)
    for number in 0..<100 { _ = queue.submit(number, of: 1, cost: 17) }
    #expect(queue.next(atMost: 256)?.count == 16)
    _ = queue.submit(1000, of: 2)
    #expect(queue.next(atMost: 256)?.contains(1000) == true)
    _ = queue.submit(1001, of: 2, cost: 500)
    #expect(queue.next(atMost: 256) == [1001], "what costs more by itself is not kept waiting")
  }

  @Test("the additional cost of work does not change the rotation")
  func surplus() {
    let queue = WorkQueue<String>(capacity: 1000)
    for uid in [1, 2] as [UInt32] { for _ in 0..<100 { _ = queue.submit("\(uid)", of: uid) } }
    _ = queue.next(atMost: 2)
    queue.charge(1, 50)
    #expect(queue.next(atMost: 40)?.allSatisfy { $0 == "2" } == true)
  }

  @Test("a task's work is not put down to the user it is done for")
  func taskUid() async {
    let queue = WorkQueue<String>(capacity: 1000)
    for _ in 0..<50 { _ = queue.submit("a", of: 1) }
    _ = queue.submit("b", of: 2)
    #expect(queue.next(atMost: 2)?.contains("b") == true)
  }

  @Test("what many threads submit at once is lost or done twice")
  func concurrent() async throws {
    let queue = WorkQueue<Int>(capacity: 100_000)
    let sum = await withUnsafeContinuation { (continuation: UnsafeContinuation<Int, Never>) in
      try? queue.start("test-queue") {
        var sum = 0
        while let items = queue.next(atMost: 7) { sum += items.reduce(0, +) }
        _ = queue.end()
        continuation.resume(returning: sum)
      }
      Task {
        await withTaskGroup(of: Void.self) { group in
          for writer in 0..<8 {
            group.addTask { for step in 0..<1000 { _ = queue.submit(writer * 1000 + step, of: 1) } }
          }
        }
        await queue.closeAndWait()
      }
    }
    #expect(sum == (0..<8000).reduce(0, +))
  }
}
