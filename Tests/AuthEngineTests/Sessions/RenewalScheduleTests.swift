import Support
import Testing

@testable import AuthEngine

/// What is due when, in bounded memory.
@Suite struct RenewalScheduleTests {
  private func entry(_ handle: SessionHandle, due: Int64, expiresAt: Int64) -> RenewalSchedule.Entry {
    .init(
      handle: handle, owner: 1, duty: .renewal(.session), due: MonotonicInstant(nanoseconds: due * 1_000_000_000),
      expiresAt: Timestamp(secondsSinceEpoch: expiresAt))
  }

  @Test("a newer token's entry takes the older one's place; each comes out once, when it is due")
  func replaced() {
    let schedule = RenewalSchedule()
    let handle = SessionHandle.random()
    schedule.add(entry(handle, due: 10, expiresAt: 20))
    schedule.add(entry(handle, due: 10, expiresAt: 20))
    schedule.add(entry(handle, due: 30, expiresAt: 40))
    #expect(schedule.next(dueAt: MonotonicInstant(nanoseconds: 20_000_000_000)) == nil)
    #expect(schedule.next(dueAt: MonotonicInstant(nanoseconds: 30_000_000_000))?.expiresAt.secondsSinceEpoch == 40)
    #expect(schedule.next(dueAt: MonotonicInstant(nanoseconds: 99_000_000_000)) == nil && schedule.isEmpty)
  }

  @Test("renewals of a token that lives long leave nothing behind that grows with their number")
  func bounded() {
    let schedule = RenewalSchedule()
    let handles = (0..<10).map { _ in SessionHandle.random() }
    for number in 0..<20_000 as Range<Int64> {
      schedule.add(entry(handles[Int(number % 10)], due: 1_000_000 + number, expiresAt: 2_000_000 + number))
    }
    #expect(schedule.placeCount <= 2 * 10 + 1024 + 1)
    var taken = 0
    while schedule.next(dueAt: MonotonicInstant(nanoseconds: .max)) != nil { taken += 1 }
    #expect(taken == 10 && schedule.placeCount == 0)
  }
}
