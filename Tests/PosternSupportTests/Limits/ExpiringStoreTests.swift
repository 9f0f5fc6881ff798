import PosternSupport
import PosternTestSupport
import Testing

@Suite("Expiring store")
struct ExpiringStoreTests {
  private let clock = ManualClock()

  private func store(
    capacity: Int = 4, capacityPerUID: Int = 2, maxBytes: Int = 100, maxBytesPerUID: Int = 60, grace: Duration = .zero
  ) -> ExpiringStore<String> {
    ExpiringStore(
      .init(
        capacity: capacity, capacityPerUID: capacityPerUID, maxBytes: maxBytes, maxBytesPerUID: maxBytesPerUID,
        grace: grace),
      clock: clock)
  }

  private func keep(
    _ store: ExpiringStore<String>, _ name: String, of uid: UInt32 = 1, bytes: Int = 1, seconds: Int = 10
  ) -> Bool {
    store.keep("value of \(name)", as: name, of: uid, byteCount: bytes, for: .seconds(seconds))
  }

  @Test("a name is valid twice, for another uid, or after its lifetime")
  func once() {
    let store = store()
    #expect(keep(store, "a") && store.value("a", of: 1) == "value of a" && store.count == 1)
    #expect(store.value("a", of: 2) == nil && store.take("a", of: 2) == nil && store.value("b", of: 1) == nil)
    #expect(store.take("a", of: 1)?.value == "value of a")
    #expect(store.take("a", of: 1) == nil && store.value("a", of: 1) == nil && store.count == 0)
    #expect(keep(store, "b"))
    clock.advance(by: .seconds(10))
    #expect(store.value("b", of: 1) == nil && store.take("b", of: 1) == nil && store.count == 0)
  }

  @Test(
    "more is kept than one uid or all may have, in number or bytes",
    arguments: [
      ([(1, 1), (1, 1), (1, 1)], [true, true, false]),
      ([(1, 40), (1, 21), (2, 21)], [true, false, true]),
      ([(1, 60), (2, 31), (2, 29), (3, 1)], [true, false, true, true]),
      ([(1, 1), (1, 1), (2, 1), (2, 1), (3, 1)], [true, true, true, true, false]),
    ] as [([(UInt32, Int)], [Bool])])
  func bounds(given: [(uid: UInt32, bytes: Int)], isKept: [Bool]) {
    let store = store()
    let kept = given.enumerated().map { keep(store, "\($0)", of: $1.uid, bytes: $1.bytes) }
    #expect(kept == isKept)
    // What is removed frees its capacity, however it is removed.
    for number in given.indices { store.remove("\(number)") }
    #expect(given.enumerated().map { keep(store, "\($0)", of: $1.uid, bytes: $1.bytes) } == isKept)
    clock.advance(by: .seconds(10))
    #expect(given.enumerated().map { keep(store, "again \($0)", of: $1.uid, bytes: $1.bytes) } == isKept)
  }

  /// Would catch: two uids that together leave nothing for a third, in number or bytes.
  @Test("a few uids take all the capacity")
  func shares() {
    for bytes in [1, 100] {
      let store = store(capacity: 100, capacityPerUID: 100, maxBytes: bytes * 100, maxBytesPerUID: bytes * 100)
      var kept: [Int] = []
      for uid in 1...3 as ClosedRange<UInt32> {
        kept.append((0..<100).prefix { keep(store, "\(uid) \($0)", of: uid, bytes: bytes) }.count)
      }
      #expect(kept[0] < 76 && kept[1] > 15 && kept[2] > 3, "\(kept)")
      #expect(keep(store, "one more", of: 4, bytes: bytes))
      // It is there for uids that have less.
      store.remove("1 0")
      #expect(!keep(store, "1 again", of: 1, bytes: bytes) && keep(store, "5 0", of: 5, bytes: bytes))
    }
    // A uid alone has no smaller share.
    let alone = self.store()
    #expect(keep(alone, "a", bytes: 30) && keep(alone, "b", bytes: 30))
  }

  @Test("a value that is put back gets its whole lifetime again, is counted twice, or can be taken twice")
  func back() throws {
    let store = store()
    #expect(keep(store, "a", bytes: 60))
    clock.advance(by: .seconds(9))
    let taken = try #require(store.take("a", of: 1))
    store.putBack(taken)
    store.putBack(taken)
    #expect(store.count == 1 && !keep(store, "b", bytes: 1) && keep(store, "c", of: 2, bytes: 19))
    clock.advance(by: .seconds(1))
    #expect(store.take("a", of: 1) == nil)
    #expect(keep(store, "d", bytes: 60))
  }

  @Test("a value is extended after its grace, or takes capacity while it is expired")
  func late() {
    let store = store(capacityPerUID: 1, grace: .seconds(5))
    #expect(keep(store, "a"))
    clock.advance(by: .seconds(14))
    #expect(!store.extend("a", of: 1) && !store.extend("a", of: 2, late: .seconds(5)))
    #expect(store.extend("a", of: 1, late: .seconds(5)) && store.value("a", of: 1) != nil)
    clock.advance(by: .seconds(9))
    #expect(store.extend("a", of: 1) && !keep(store, "b"))
    clock.advance(by: .seconds(15))
    #expect(!store.extend("a", of: 1, late: .seconds(5)))
    #expect(keep(store, "b") && keep(store, "c", of: 2))
    clock.advance(by: .seconds(11))
    // Expired, but within the grace: it is dropped when its capacity is needed.
    #expect(keep(store, "d", of: 3) && store.extend("c", of: 2, late: .seconds(5)))
    #expect(keep(store, "e") && !store.extend("b", of: 1, late: .seconds(5)))
  }
}
