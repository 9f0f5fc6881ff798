import PosternSupport
import Testing

@testable import CurlTransport

@Suite("Slots of transfers")
struct TransferSlotsTests {
  /// Fills the slots of `key` with elements that are not checked.
  private func filled(capacity: Int, capacityPerKey: Int, _ key: String, _ count: Int) -> TransferSlots<String, Int> {
    var slots = TransferSlots<String, Int>(capacity: capacity, capacityPerKey: capacityPerKey)
    for _ in 0..<count { #expect(slots.enter(-1, key) == nil) }
    return slots
  }

  @Test("the bound of a key is kept, and a free slot goes to the first waiter")
  func perKey() {
    var slots = filled(capacity: 10, capacityPerKey: 2, "a", 2)
    #expect((1...3).allSatisfy { slots.enter($0, "a") != nil })
    #expect(slots.next() == nil)
    slots.leave("a")
    #expect(slots.next() == 1)
    #expect(slots.next() == nil)
    slots.leave("a")
    slots.leave("a")
    #expect(slots.next() == 2)
    #expect(slots.next() == 3)
    #expect(slots.next() == nil)
    #expect(slots.waitingCount == 0)
  }

  @Test("a uid's long queue delays no other uid, nor a connection's long queue another one of the same uid")
  func fairness() {
    var slots = TransferSlots<String, Int>(capacity: 10, capacityPerKey: 4)
    let (busy, sibling, other) = (
      PeerID(uid: 1, connection: 1), PeerID(uid: 1, connection: 2), PeerID(uid: 2, connection: 3)
    )
    for element in 0..<100 { _ = slots.enter(element, "a", for: busy) }
    _ = slots.enter(1000, "a", for: sibling)
    for element in 2000..<2003 { _ = slots.enter(element, "a", for: other) }
    var order: [Int] = []
    for _ in 0..<5 {
      slots.leave("a", for: busy)
      while let next = slots.next() { order.append(next) }
    }
    #expect(order == [2001, 1000, 3, 4, 5])
  }

  @Test("slots that one uid never gives back leave slots for others, at one server and over all")
  func holding() {
    var slots = TransferSlots<String, Int>(capacity: 16, capacityPerKey: 8)
    let (busy, others) = (
      PeerID(uid: 1, connection: 1), (2...4).map { PeerID(uid: $0, connection: UInt64($0)) }
    )
    for key in ["a", "b", "c"] { for element in 0..<20 { _ = slots.enter(element, key, for: busy) } }
    while slots.next() != nil {}
    for other in others.prefix(2) { #expect(slots.enter(100, "a", for: other) == nil) }
    #expect(slots.enter(100, "d", for: others[2]) == nil)
  }

  @Test("a slot that lingers after its exchange counts for its uid until its time is over, and is free then, once")
  func lingering() {
    var slots = TransferSlots<String, Int>(capacity: 8, capacityPerKey: 4)
    let (giver, other) = (PeerID(uid: 1, connection: 1), PeerID(uid: 2, connection: 2))
    func at(_ seconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: seconds * 1_000_000_000) }
    for number in 1...3 {
      #expect(slots.enter(number, "a", for: giver) == nil)
      slots.leave("a", for: giver, lingeringUntil: at(Int64(10 * number)))
    }
    #expect(slots.enter(4, "a", for: giver) != nil)
    #expect(slots.enter(5, "a", for: other) == nil)
    slots.leave("a", for: other)
    slots.releaseLingering(at: at(9))
    #expect(slots.next() == nil)
    for _ in 0..<2 { slots.releaseLingering(at: at(10)) }
    #expect(slots.next() == 4)
    #expect(slots.enter(6, "a", for: giver) != nil)
    slots.leave("a", for: giver)
    slots.releaseLingering(at: at(1000))
    #expect(slots.next() == 6)
    slots.leave("a", for: giver)
    // All slots are free again, and none twice.
    for number in 0..<4 { #expect(slots.enter(number, "a") == nil) }
    #expect(slots.enter(4, "a") != nil)
  }

  @Test("a long queue for one server delays no exchange with another")
  func independence() {
    var slots = filled(capacity: 10, capacityPerKey: 2, "slow", 2)
    for element in 0..<1000 { _ = slots.enter(element, "slow") }
    for _ in 0..<2 { #expect(slots.enter(-2, "quick") == nil) }
    #expect(slots.enter(5000, "quick") != nil)
    slots.leave("quick")
    #expect(slots.next() == 5000)
    #expect(slots.next() == nil)
  }

  @Test("the bound over all is kept, and shared in the order of arrival")
  func overAll() {
    var slots = filled(capacity: 3, capacityPerKey: 3, "a", 3)
    #expect(slots.enter(1, "b") != nil)
    #expect(slots.enter(2, "a") != nil)
    #expect(slots.enter(3, "b") != nil)
    for expected in [1, 2, 3] {
      #expect(slots.next() == nil)
      slots.leave("a")
      #expect(slots.next() == expected)
    }
  }

  @Test("a waiter that gives up is skipped and returned, once, and none behind it loses its position")
  func givingUp() {
    var slots = filled(capacity: 1, capacityPerKey: 1, "a", 1)
    let waiterIDs = (0..<5).compactMap { slots.enter($0, "a") }
    #expect(waiterIDs.count == 5)
    for index in [0, 1, 3] {
      #expect(slots.remove(waiterIDs[index]) == index)
      #expect(slots.remove(waiterIDs[index]) == nil)
    }
    #expect(slots.waiting.sorted() == [2, 4])
    for expected in [2, 4] {
      slots.leave("a")
      #expect(slots.next() == expected)
      #expect(slots.remove(waiterIDs[expected]) == nil)
    }
    slots.leave("a")
    #expect(slots.next() == nil)
    #expect(slots.enter(9, "a") == nil)
  }

  @Test("bounds below one allow one, and the largest allow all")
  func extremes() {
    var least = TransferSlots<String, Int>(capacity: 0, capacityPerKey: -1)
    #expect(least.enter(1, "a") == nil)
    #expect(least.enter(2, "a") != nil)
    var most = TransferSlots<String, Int>(capacity: .max, capacityPerKey: .max)
    #expect((0..<1000).allSatisfy { most.enter($0, "a") == nil })
  }

  @Test("a queue that is used for long comes out in order, whatever leaves in between")
  func longRun() {
    var slots = filled(capacity: 1, capacityPerKey: 1, "a", 1)
    var expected: [Int] = []
    var got: [Int] = []
    for element in 0..<2000 {
      let waiterID = slots.enter(element, "a")
      if element % 3 == 0, let waiterID {
        #expect(slots.remove(waiterID) == element)
      } else {
        expected.append(element)
      }
      if element % 2 == 0 {
        slots.leave("a")
        if let next = slots.next() { got.append(next) } else { #expect(slots.enter(-1, "a") == nil) }
      }
    }
    while slots.waitingCount > 0 {
      slots.leave("a")
      if let next = slots.next() { got.append(next) }
    }
    #expect(got == expected)
  }
}
