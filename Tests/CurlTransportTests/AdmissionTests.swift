import PosternSupport
import Testing

@testable import CurlTransport

@Suite("Who may go now and who waits")
struct AdmissionTests {
  /// Fills the places of `key` with elements nobody asks about.
  private func filled(bound: Int, boundPerKey: Int, _ key: String, _ count: Int) -> Admission<String, Int> {
    var admission = Admission<String, Int>(bound: bound, boundPerKey: boundPerKey)
    for _ in 0..<count { #expect(admission.enter(-1, key) == nil) }
    return admission
  }

  @Test("the bound of a key holds, and a place that becomes free goes to who came first")
  func perKey() {
    var admission = filled(bound: 10, boundPerKey: 2, "a", 2)
    #expect((1...3).allSatisfy { admission.enter($0, "a") != nil })
    #expect(admission.next() == nil)
    admission.leave("a")
    #expect(admission.next() == 1)
    #expect(admission.next() == nil)
    admission.leave("a")
    admission.leave("a")
    #expect(admission.next() == 2)
    #expect(admission.next() == 3)
    #expect(admission.next() == nil)
    #expect(admission.waitingCount == 0)
  }

  @Test("a uid's long queue holds up nobody else, nor does a connection's long queue another one of the same uid")
  func fairness() {
    var admission = Admission<String, Int>(bound: 10, boundPerKey: 4)
    let (busy, sibling, other) = (
      Requester(uid: 1, connection: 1), Requester(uid: 1, connection: 2), Requester(uid: 2, connection: 3)
    )
    for element in 0..<100 { _ = admission.enter(element, "a", for: busy) }
    _ = admission.enter(1000, "a", for: sibling)
    for element in 2000..<2003 { _ = admission.enter(element, "a", for: other) }
    var order: [Int] = []
    for _ in 0..<5 {
      admission.leave("a", for: busy)
      while let next = admission.next() { order.append(next) }
    }
    #expect(order == [2001, 1000, 3, 4, 5])
  }

  @Test("what one uid holds and never gives back leaves places for others, at one server and over all")
  func holding() {
    var admission = Admission<String, Int>(bound: 16, boundPerKey: 8)
    let (holder, others) = (
      Requester(uid: 1, connection: 1), (2...4).map { Requester(uid: $0, connection: UInt64($0)) }
    )
    for key in ["a", "b", "c"] { for element in 0..<20 { _ = admission.enter(element, key, for: holder) } }
    while admission.next() != nil {}
    for other in others.prefix(2) { #expect(admission.enter(100, "a", for: other) == nil) }
    #expect(admission.enter(100, "d", for: others[2]) == nil)
  }

  @Test("a place that is kept after its exchange counts for its uid until its time is over, and is free then, once")
  func lingering() {
    var admission = Admission<String, Int>(bound: 8, boundPerKey: 4)
    let (giver, other) = (Requester(uid: 1, connection: 1), Requester(uid: 2, connection: 2))
    func at(_ seconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: seconds * 1_000_000_000) }
    for number in 1...3 {
      #expect(admission.enter(number, "a", for: giver) == nil)
      admission.leave("a", for: giver, lingeringUntil: at(Int64(10 * number)))
    }
    #expect(admission.enter(4, "a", for: giver) != nil)
    #expect(admission.enter(5, "a", for: other) == nil)
    admission.leave("a", for: other)
    admission.releaseLingering(at: at(9))
    #expect(admission.next() == nil)
    for _ in 0..<2 { admission.releaseLingering(at: at(10)) }
    #expect(admission.next() == 4)
    #expect(admission.enter(6, "a", for: giver) != nil)
    admission.leave("a", for: giver)
    admission.releaseLingering(at: at(1000))
    #expect(admission.next() == 6)
    admission.leave("a", for: giver)
    // All places are there again, and none twice.
    for number in 0..<4 { #expect(admission.enter(number, "a") == nil) }
    #expect(admission.enter(4, "a") != nil)
  }

  @Test("a long queue for one server holds nobody up who wants another")
  func independence() {
    var admission = filled(bound: 10, boundPerKey: 2, "slow", 2)
    for element in 0..<1000 { _ = admission.enter(element, "slow") }
    for _ in 0..<2 { #expect(admission.enter(-2, "quick") == nil) }
    #expect(admission.enter(5000, "quick") != nil)
    admission.leave("quick")
    #expect(admission.next() == 5000)
    #expect(admission.next() == nil)
  }

  @Test("the bound over all holds, and is shared in the order of arrival")
  func overAll() {
    var admission = filled(bound: 3, boundPerKey: 3, "a", 3)
    #expect(admission.enter(1, "b") != nil)
    #expect(admission.enter(2, "a") != nil)
    #expect(admission.enter(3, "b") != nil)
    for expected in [1, 2, 3] {
      #expect(admission.next() == nil)
      admission.leave("a")
      #expect(admission.next() == expected)
    }
  }

  @Test("who gives up is skipped and given back, once, and nobody who waits behind loses the place")
  func givingUp() {
    var admission = filled(bound: 1, boundPerKey: 1, "a", 1)
    let tickets = (0..<5).compactMap { admission.enter($0, "a") }
    #expect(tickets.count == 5)
    for index in [0, 1, 3] {
      #expect(admission.giveUp(tickets[index]) == index)
      #expect(admission.giveUp(tickets[index]) == nil)
    }
    #expect(admission.waiting.sorted() == [2, 4])
    for expected in [2, 4] {
      admission.leave("a")
      #expect(admission.next() == expected)
      #expect(admission.giveUp(tickets[expected]) == nil)
    }
    admission.leave("a")
    #expect(admission.next() == nil)
    #expect(admission.enter(9, "a") == nil)
  }

  @Test("bounds below one let one through, and the largest let everybody through")
  func extremes() {
    var least = Admission<String, Int>(bound: 0, boundPerKey: -1)
    #expect(least.enter(1, "a") == nil)
    #expect(least.enter(2, "a") != nil)
    var most = Admission<String, Int>(bound: .max, boundPerKey: .max)
    #expect((0..<1000).allSatisfy { most.enter($0, "a") == nil })
  }

  @Test("a queue that is used for long comes out in order, whatever leaves in between")
  func longRun() {
    var admission = filled(bound: 1, boundPerKey: 1, "a", 1)
    var expected: [Int] = []
    var got: [Int] = []
    for element in 0..<2000 {
      let ticket = admission.enter(element, "a")
      if element % 3 == 0, let ticket {
        #expect(admission.giveUp(ticket) == element)
      } else {
        expected.append(element)
      }
      if element % 2 == 0 {
        admission.leave("a")
        if let next = admission.next() { got.append(next) } else { #expect(admission.enter(-1, "a") == nil) }
      }
    }
    while admission.waitingCount > 0 {
      admission.leave("a")
      if let next = admission.next() { got.append(next) }
    }
    #expect(got == expected)
  }
}
