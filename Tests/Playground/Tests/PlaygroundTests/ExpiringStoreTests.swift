import PlaygroundTestSupport
import Testing

@testable import Playground

@Suite struct ExpiringStoreTests {
  @Test("A value is there for its time, once under a key, and taken once")
  func lifetime() {
    let clock = ManualClock()
    let store = ExpiringStore<Int>(clock: clock)
    #expect(store.insert(1, under: "a", for: .seconds(10)))
    #expect(!store.insert(2, under: "a", for: .seconds(10)))
    clock.advance(by: .seconds(9))
    #expect(store.value("a") == 1)
    store.extend("a", for: .seconds(5))
    clock.advance(by: .seconds(4))
    #expect(store.update("a") { $0 += 1 } != nil)
    #expect(store.all == ["a": 2])
    clock.advance(by: .seconds(1))
    #expect(store.value("a") == nil && store.take("a") == nil && store.key { $0 == 2 } == nil)
    #expect(store.insert(3, under: "a", for: .seconds(1)))
    #expect(store.take("a") == 3 && store.take("a") == nil)
  }

  @Test("A full store takes nothing more until something has expired: memory is bounded")
  func bound() {
    let clock = ManualClock()
    let store = ExpiringStore<Int>(limit: 2, clock: clock)
    #expect(store.insert(1, under: "a", for: .seconds(10)))
    #expect(store.insert(2, under: "b", for: .seconds(20)))
    #expect(!store.insert(3, under: "c", for: .seconds(20)))
    clock.advance(by: .seconds(10))
    #expect(store.insert(3, under: "c", for: .seconds(20)))
    #expect(store.all == ["b": 2, "c": 3])
  }
}
