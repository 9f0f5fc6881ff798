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
    let count = state.stop()
    #expect(count == 4)
  }

  @Test("one thread is not enough for work to be taken in, or those that are missing are never started")
  func fewThreads() {
    var state = PoolState<Int>(size: 4)
    let flow = state.open(uid: 1)
    for started in 1...5 {
      var left = 1
      let isTaken = state.add(started, of: flow) {
        left -= 1
        return left >= 0
      }
      #expect(isTaken)
    }
    let count = state.stop()
    #expect(count == 4)
  }

  @Test("work that comes while a stopped pool ends is left to threads that have ended, or not to those that have not")
  func stop() {
    var state = PoolState<Int>(size: 2)
    let flow = state.open(uid: 1)
    let first = state.add(1, of: flow) { true }
    let woken = state.stop()
    #expect(first && woken == 2)
    // Three are woken by now: for the work, and each thread for its end.
    let done = state.next()?.work
    let end = state.next()?.work
    #expect(done == 1 && end == nil)
    // One thread is still there.
    let late = state.add(2, of: flow) { true }
    #expect(late)
    let (lateDone, lateEnd) = (state.next()?.work, state.next()?.work)
    #expect(lateDone == 2 && lateEnd == nil)
    let tooLate = state.add(3, of: flow) { true }
    #expect(!tooLate)
  }
}
