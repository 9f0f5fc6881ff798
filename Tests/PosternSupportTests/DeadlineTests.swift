import PosternSupport
import PosternTestSupport
import Testing

@Suite("Deadlines")
struct DeadlineTests {
  @Test("what remains never goes below zero, and the earlier of two wins")
  func remaining() {
    let clock = ManualClock()
    let short = Deadline(in: .seconds(1), on: clock)
    let long = Deadline(in: .seconds(9), on: clock)
    #expect(short.earlier(long) == short)
    #expect(Deadline.never.earlier(long) == long)
    #expect(long.earlier(.never) == long)
    #expect(Deadline.never.remaining(on: clock) == nil)
    clock.advance(by: .seconds(2))
    #expect(short.remaining(on: clock) == .zero)
    #expect(short.hasPassed(on: clock))
    #expect(!long.hasPassed(on: clock))
  }

  @Test("a step of the wall clock moves no deadline")
  func wallStep() {
    let clock = ManualClock()
    let deadline = Deadline(in: .seconds(5), on: clock)
    clock.stepWall(by: .seconds(3600))
    #expect(!deadline.hasPassed(on: clock))
  }
}
