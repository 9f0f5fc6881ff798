import PosternSupport
import PosternTestSupport
import Testing

@testable import PosternRuntime

@Suite("Timers of a loop")
struct LoopTimersTests {
  private func at(_ milliseconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: milliseconds * 1_000_000) }

  private func run(_ timers: inout LoopTimers, at now: MonotonicInstant) {
    while let body = timers.next(at: now) { body() }
  }

  @Test("timers are called in the order of their times, of equal times in the order in which they were set")
  func order() {
    var (timers, called) = (LoopTimers(), [Int]())
    for (number, time) in [30, 10, 20, 10, 40, 20, 10].enumerated() {
      _ = timers.add(at: at(Int64(time))) { called.append(number) }
    }
    #expect(timers.earliest == at(10))
    run(&timers, at: at(25))
    #expect(called == [1, 3, 6, 2, 5])
    #expect(timers.earliest == at(30))
    run(&timers, at: at(1000))
    #expect(called == [1, 3, 6, 2, 5, 0, 4])
    #expect(timers.earliest == nil)
  }

  @Test("a cancelled timer is called all the same, or cancels another one")
  func cancellation() {
    var (timers, called) = (LoopTimers(), [Int]())
    let ids = (0..<5).map { number in timers.add(at: at(Int64(number))) { called.append(number) } }
    timers.cancel(ids[1])
    timers.cancel(ids[1])
    run(&timers, at: at(2))
    timers.cancel(ids[0])
    run(&timers, at: at(10))
    #expect(called == [0, 2, 3, 4])
  }

  @Test("timers that are set and cancelled again and again accumulate")
  func bounded() {
    var timers = LoopTimers()
    for number in 0..<10_000 { timers.cancel(timers.add(at: at(1_000_000 + Int64(number % 7))) {}) }
    #expect(timers.size <= 65)
  }

  @Test("the heap loses a timer or its order, whatever is set, cancelled and due in between")
  func random() {
    var (timers, generator) = (LoopTimers(), SeededGenerator(seed: 7))
    var (due, last, pending) = ([Int64](), Int64(0), [(LoopTimers.ID, Int64)]())
    for _ in 0..<5000 {
      switch Int.random(in: 0..<4, using: &generator) {
      case 0, 1:
        let time = last + Int64.random(in: 0..<50, using: &generator)
        pending.append((timers.add(at: at(time)) { due.append(time) }, time))
      case 2 where !pending.isEmpty:
        timers.cancel(pending.remove(at: Int.random(in: 0..<pending.count, using: &generator)).0)
      default:
        last += Int64.random(in: 0..<20, using: &generator)
        due = []
        run(&timers, at: at(last))
        #expect(due == due.sorted())
        #expect(due == pending.map(\.1).filter { $0 <= last }.sorted())
        pending.removeAll { $0.1 <= last }
      }
    }
  }
}
