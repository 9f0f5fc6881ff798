import PosternSupport
import Testing

@testable import PosternObservability
@testable import Sidecar

/// The caller that adds work learns whether a thread will do it.
@Suite("State of a pool of threads", .timeLimit(.minutes(1)))
struct PoolStateTests {
  @Test("work is accepted, or kept, for which no thread could be started; or no start is tried again")
  func noThread() {
    var state = PoolState<Int>(size: 4)
    let flow = state.open(uid: 1)
    var attempts = 0
    for number in 1...2 {
      let isTaken = state.add(number, of: flow) {
        attempts += 1
        return false
      }
      // One attempt: the lock is not held for as many as there are processors.
      #expect(!isTaken && attempts == number)
    }
    let isTaken = state.add(3, of: flow) { true }
    #expect(isTaken)
    let next = state.next()?.work
    #expect(next == 3)
  }

  @Test("one thread is not enough for work to be taken in, or those that are missing are never started")
  func fewThreads() {
    var state = PoolState<Int>(size: 4)
    let flow = state.open(uid: 1)
    var count = 0
    for started in 1...5 {
      var left = 1
      let isTaken = state.add(started, of: flow) {
        left -= 1
        if left >= 0 { count += 1 }
        return left >= 0
      }
      #expect(isTaken)
    }
    #expect(count == 4)
  }
}
