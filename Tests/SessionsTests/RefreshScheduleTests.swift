import AuthEngine
import PosternSupport
import Testing

@testable import Sessions

/// The schedule of refreshes and announcements, in bounded memory.
@Suite struct RefreshScheduleTests {
  private func entry(
    _ handle: SessionHandle = .random(), uid: UInt32 = 1, due: Int64, expiresAt: Int64 = 1_000
  ) -> SessionDuty {
    .init(
      handle: handle, uid: uid, duty: .refresh(.session), due: MonotonicInstant(nanoseconds: due * 1_000_000_000),
      expiresAt: Timestamp(secondsSinceEpoch: expiresAt))
  }

  private static let late = MonotonicInstant(nanoseconds: 1_000_000_000_000)

  @Test("a newer token's entry replaces the older one; each is returned once, when it is due")
  func replaced() {
    let schedule = RefreshSchedule()
    let handle = SessionHandle.random()
    schedule.add(entry(handle, due: 10, expiresAt: 20))
    schedule.add(entry(handle, due: 10, expiresAt: 20))
    schedule.add(entry(handle, due: 30, expiresAt: 40))
    #expect(schedule.begin(dueAt: MonotonicInstant(nanoseconds: 20_000_000_000)) == nil)
    #expect(schedule.begin(dueAt: MonotonicInstant(nanoseconds: 30_000_000_000))?.expiresAt.secondsSinceEpoch == 40)
    #expect(schedule.begin(dueAt: MonotonicInstant(nanoseconds: 99_000_000_000)) == nil && schedule.isEmpty)
  }

  @Test("refreshes of a token that lives long leave nothing behind that grows with their number")
  func bounded() {
    let schedule = RefreshSchedule()
    let handles = (0..<10).map { _ in SessionHandle.random() }
    for number in 0..<20_000 as Range<Int64> {
      schedule.add(entry(handles[Int(number % 10)], due: 1_000_000 + number, expiresAt: 2_000_000 + number))
    }
    #expect(schedule.positionCount <= 2 * 10 + 1024 + 1)
    var taken = 0
    while let entry = schedule.begin(dueAt: MonotonicInstant(nanoseconds: .max)) {
      taken += 1
      schedule.end(entry)
    }
    #expect(taken == 10 && schedule.positionCount == 0)
  }

  @Test("a uid with many entries takes all slots, or takes precedence over one who has few")
  func rotation() throws {
    let schedule = RefreshSchedule()
    for number in 0..<100 { schedule.add(entry(due: Int64(number))) }
    var begun: [SessionDuty] = []
    while let entry = schedule.begin(dueAt: Self.late) { begun.append(entry) }
    #expect(begun.count == 12 && schedule.underWay == 12)
    #expect(begun.map(\.due) == begun.map(\.due).sorted(), "one uid's come as they are due")
    schedule.add(entry(uid: 2, due: 500))
    schedule.add(entry(uid: 3, due: 400))
    #expect(Set([schedule.begin(dueAt: Self.late)?.uid, schedule.begin(dueAt: Self.late)?.uid]) == [2, 3])
    #expect(schedule.begin(dueAt: Self.late) == nil, "14 of 16 are under way: no uid may have 12 and another one")
    schedule.add(entry(uid: 2, due: 501))
    for entry in begun.prefix(6) { schedule.end(entry) }
    #expect(schedule.begin(dueAt: Self.late)?.uid == 2, "who has least under way is next")
    #expect(schedule.begin(dueAt: Self.late)?.uid == 1)
  }

  @Test("a slot that is given back is not used again")
  func slots() {
    let schedule = RefreshSchedule()
    for uid in 0..<50 as Range<UInt32> { schedule.add(entry(uid: uid, due: 1)) }
    var done = 0
    while let first = schedule.begin(dueAt: Self.late) {
      var begun = [first]
      while let entry = schedule.begin(dueAt: Self.late) { begun.append(entry) }
      #expect(begun.count <= RefreshSchedule.slots)
      for entry in begun { schedule.end(entry) }
      done += begun.count
    }
    #expect(done == 50 && schedule.underWay == 0 && schedule.isEmpty)
  }

  @Test("entries of sessions that are over keep their slots")
  func ended() {
    let schedule = RefreshSchedule(capacity: 100)
    let handles = (0..<100).map { _ in SessionHandle.random() }
    for handle in handles { schedule.add(entry(handle, due: 1_000_000)) }
    for handle in handles { schedule.remove(handle.key, of: 2) }
    #expect(!schedule.isEmpty, "another's")
    for handle in handles { schedule.remove(handle.key, of: 1) }
    #expect(schedule.isEmpty && schedule.positionCount == 0)
    schedule.add(entry(uid: 2, due: 1))
    #expect(schedule.begin(dueAt: Self.late)?.uid == 2)
    for _ in 0..<20_000 {
      let handle = SessionHandle.random()
      schedule.add(entry(handle, due: 1_000_000))
      schedule.remove(handle.key, of: 1)
    }
    #expect(schedule.positionCount <= 1024 + 1)
  }

  @Test("a uid with very many sessions leaves no capacity for the entries of another's")
  func space() {
    let schedule = RefreshSchedule(capacity: 100)
    for _ in 0..<200 { schedule.add(entry(due: 1)) }
    let kept = SessionHandle.random()
    schedule.add(entry(kept, uid: 2, due: 1))
    for _ in 0..<200 { schedule.add(entry(due: 1)) }
    var owners: [UInt32] = []
    while let entry = schedule.begin(dueAt: Self.late) {
      owners.append(entry.uid)
      schedule.end(entry)
    }
    #expect(owners.count == 100 && owners.prefix(2).contains(2))
  }
}
