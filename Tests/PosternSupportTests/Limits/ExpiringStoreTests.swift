import PosternSupport
import PosternTestSupport
import Testing

@Suite("Expiring store")
struct ExpiringStoreTests {
  private let clock = ManualClock()

  private func store(
    capacity: Int = 4, capacityPerUID: Int = 2, capacityPerHolder: Int = 2, maxBytes: Int = 100,
    maxBytesPerUID: Int = 60, grace: Duration = .zero
  ) -> ExpiringStore<String> {
    ExpiringStore(
      .init(
        capacity: capacity, capacityPerUID: capacityPerUID, capacityPerHolder: capacityPerHolder, maxBytes: maxBytes,
        maxBytesPerUID: maxBytesPerUID, grace: grace),
      clock: clock)
  }

  private func keep(
    _ store: ExpiringStore<String>, _ name: String, of uid: UInt32 = 1, holder: String? = nil, bytes: Int = 1,
    seconds: Int = 10
  ) -> Bool {
    store.keep("value of \(name)", as: name, of: uid, holder: holder, byteCount: bytes, for: .seconds(seconds))
  }

  /// Those of `names` that are there.
  private func kept(_ store: ExpiringStore<String>, _ names: [String], of uid: UInt32 = 1) -> [String] {
    names.filter { store.value($0, of: uid) != nil }
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
    "more is kept than one uid or all may have, in number or bytes; or one that cannot be kept replaces others",
    arguments: [
      ([(1, 1), (1, 1), (1, 1)], [true, true, true], [1, 2]),
      ([(1, 40), (1, 21), (2, 21)], [true, true, true], [1, 2]),
      ([(1, 20), (1, 20), (1, 61)], [true, true, false], [0, 1]),
      ([(1, 60), (2, 31), (2, 29), (3, 1)], [true, false, true, true], [0, 2, 3]),
      ([(1, 1), (1, 1), (2, 1), (2, 1), (3, 1), (2, 1)], [true, true, true, true, false, true], [0, 1, 3, 5]),
    ] as [([(UInt32, Int)], [Bool], [Int])])
  func bounds(given: [(uid: UInt32, bytes: Int)], isKept: [Bool], left: [Int]) {
    let store = store()
    func keepAll(_ prefix: String) -> [Bool] {
      given.enumerated().map { keep(store, "\(prefix)\($0)", of: $1.uid, bytes: $1.bytes) }
    }
    func stays(_ prefix: String) -> [Int] {
      given.indices.filter { store.value("\(prefix)\($0)", of: given[$0].uid) != nil }
    }
    #expect(keepAll("") == isKept && stays("") == left)
    // What is removed frees its capacity, however it is removed.
    for number in given.indices { store.remove("\(number)") }
    #expect(keepAll("") == isKept && stays("") == left)
    clock.advance(by: .seconds(10))
    #expect(keepAll("again ") == isKept && stays("again ") == left)
  }

  @Test("a child's values displace its own, not those of the program that made it, nor those of its siblings")
  func paths() {
    let store = store(
      capacity: 1000, capacityPerUID: 500, capacityPerHolder: 32, maxBytes: 10_000, maxBytesPerUID: 5000)
    func put(_ name: String, _ path: [String]) -> Bool {
      store.keep(name, as: name, of: 1, holder: "alice", path: path, byteCount: 1, for: .seconds(10))
    }
    let maker = (0..<8).map { "maker \($0)" }
    for name in maker { #expect(put(name, ["maker"])) }
    #expect(put("sibling", ["maker", "sibling"]))
    // One that makes a level for each value is still one child.
    for number in 0..<100 {
      #expect(put("child \(number)", ["maker", "child"] + (number % 2 == 0 ? [] : ["\(number)"])))
    }
    #expect(kept(store, maker + ["sibling"]) == maker + ["sibling"])
    let children = (0..<100).map { "child \($0)" }
    #expect(kept(store, children).count == 23 && kept(store, children).last == "child 99")
    // Others at the top have a share of their own.
    #expect(put("another's", ["other"]) && put("nobody's", []))
    #expect(kept(store, maker) == maker)
  }

  /// Would catch: the sessions of one application's users, who are one uid, of which one keeps out the others.
  @Test("one holder's values, however many, keep out or replace those of another, or of another uid")
  func holders() {
    let store = store(
      capacity: 100, capacityPerUID: 20, capacityPerHolder: 8, maxBytes: 1000, maxBytesPerUID: 500)
    #expect(keep(store, "other uid's", of: 2, holder: "mallory") && keep(store, "bob's", holder: "bob"))
    for number in 0..<1000 { #expect(keep(store, "mallory's \(number)", holder: "mallory")) }
    let newest = (992..<1000).map { "mallory's \($0)" }
    #expect(kept(store, (0..<1000).map { "mallory's \($0)" }) == newest, "its oldest goes for its newest")
    // Those without a name have what is left, and lose their own where they have the most.
    for number in 0..<1000 { #expect(keep(store, "nobody's \(number)")) }
    #expect(kept(store, (0..<1000).map { "nobody's \($0)" }) == (989..<1000).map { "nobody's \($0)" })
    #expect(kept(store, newest) == newest && kept(store, ["bob's"]) == ["bob's"])
    // At the bound of the uid another one's first, and its second, are kept.
    #expect(keep(store, "carol's", holder: "carol") && keep(store, "bob's second", holder: "bob"))
    #expect(kept(store, ["bob's", "bob's second", "carol's"]).count == 3 && kept(store, newest) == newest)
    #expect(kept(store, (0..<1000).map { "nobody's \($0)" }).count == 9)
    #expect(store.value("other uid's", of: 2) != nil && store.count == 21)
  }

  @Test("of holders that have equally many another than the one with the oldest value loses it")
  func equals() {
    let store = store(capacity: 100, capacityPerUID: 4, capacityPerHolder: 4, maxBytes: 1000, maxBytesPerUID: 500)
    for holder in ["a", "b", "c", "d"] { #expect(keep(store, holder, holder: holder)) }
    #expect(store.take("a", of: 1).map { store.putBack($0) } != nil, "from now on it is the newest")
    #expect(keep(store, "e", holder: "e"))
    #expect(kept(store, ["a", "b", "c", "d", "e"]) == ["a", "c", "d", "e"])
    #expect(keep(store, "a again", holder: "a"))
    #expect(kept(store, ["a", "c", "d", "e", "a again"]) == ["a", "d", "e", "a again"])
    #expect(keep(store, "f", holder: "f"))
    #expect(kept(store, ["a", "d", "e", "a again", "f"]) == ["d", "e", "a again", "f"])
  }

  @Test("one holder's large values keep out those of another, or more are replaced than make room")
  func largeValues() {
    let store = store(capacity: 100, capacityPerUID: 20, capacityPerHolder: 8, maxBytes: 1000, maxBytesPerUID: 100)
    #expect(keep(store, "bob's", holder: "bob", bytes: 10))
    for number in 0..<100 { #expect(keep(store, "mallory's \(number)", holder: "mallory", bytes: 30)) }
    #expect(keep(store, "carol's", holder: "carol", bytes: 20))
    #expect(kept(store, ["bob's", "carol's"]).count == 2)
    #expect(kept(store, (0..<100).map { "mallory's \($0)" }) == ["mallory's 98", "mallory's 99"])
    #expect(!keep(store, "too large", holder: "mallory", bytes: 101))
    #expect(keep(store, "all", holder: "mallory", bytes: 100) && store.count == 1)
  }

  /// Would catch: two uids that together leave nothing for a third, in number or bytes.
  @Test("a few uids take all the capacity")
  func shares() {
    for bytes in [1, 100] {
      let store = store(capacity: 100, capacityPerUID: 100, maxBytes: bytes * 100, maxBytesPerUID: bytes * 100)
      var counts: [Int] = []
      for uid in 1...3 as ClosedRange<UInt32> {
        let names = (0..<100).map { "\(uid) \($0)" }
        for name in names { #expect(keep(store, name, of: uid, bytes: bytes)) }
        let left = kept(store, names, of: uid)
        #expect(left == names.suffix(left.count), "a uid at its share replaces its own")
        counts.append(left.count)
      }
      #expect(counts[0] < 76 && counts[1] > 15 && counts[2] > 3, "\(counts)")
      #expect(keep(store, "one more", of: 4, bytes: bytes))
      // It is there for uids that have less.
      store.remove("1 99")
      let count = store.count
      #expect(keep(store, "1 again", of: 1, bytes: bytes) && store.count == count)
      #expect(keep(store, "5 0", of: 5, bytes: bytes) && store.count == count + 1)
    }
    // A uid alone has no smaller share.
    let alone = self.store()
    #expect(keep(alone, "a", bytes: 30) && keep(alone, "b", bytes: 30) && alone.count == 2)
  }

  @Test("a value that is put back gets its whole lifetime again, is counted twice, or can be taken twice")
  func back() throws {
    let store = store()
    #expect(keep(store, "a", bytes: 60))
    clock.advance(by: .seconds(9))
    let taken = try #require(store.take("a", of: 1))
    store.putBack(taken)
    store.putBack(taken)
    #expect(store.count == 1 && !keep(store, "b", bytes: 61) && keep(store, "c", of: 2, bytes: 19))
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
    #expect(store.extend("a", of: 1) && store.count == 1)
    clock.advance(by: .seconds(15))
    #expect(!store.extend("a", of: 1, late: .seconds(5)))
    #expect(keep(store, "b") && keep(store, "c", of: 2))
    clock.advance(by: .seconds(11))
    // Expired, but within the grace: it is dropped when its capacity is needed.
    #expect(keep(store, "d", of: 3) && store.extend("c", of: 2, late: .seconds(5)))
    #expect(keep(store, "e") && !store.extend("b", of: 1, late: .seconds(5)))
  }
}
