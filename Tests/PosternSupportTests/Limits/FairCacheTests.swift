import PosternSupport
import PosternTestSupport
import Testing

/// Which entries are evicted when several uids share a cache.
@Suite struct FairCacheTests {
  private typealias Cache = FairCache<UInt32, Int, Int>

  private func has(_ cache: inout Cache, _ keys: some Sequence<Int>) -> [Bool] {
    keys.map { key in
      let value = cache[key]
      return value != nil
    }
  }

  @Test("a uid that adds without end evicts another's entries")
  func others() {
    var cache = Cache(capacity: 10)
    for key in 0..<3 { cache.set(key, for: key, of: 1) }
    for key in 100..<1000 { cache.set(key, for: key, of: 2) }
    #expect(cache.count == 10 && has(&cache, 0..<3) == [true, true, true])
    #expect(has(&cache, 993..<1000) == Array(repeating: true, count: 7), "and has the latest")
  }

  @Test("a uid that comes late to a full cache gets no entries, or more than an equal share")
  func newcomer() {
    var cache = Cache(capacity: 10)
    for key in 0..<10 { cache.set(key, for: key, of: 1) }
    for key in 100..<120 { cache.set(key, for: key, of: 2) }
    #expect(has(&cache, 5..<10) == Array(repeating: true, count: 5))
    #expect(has(&cache, 115..<120) == Array(repeating: true, count: 5))
  }

  @Test("a uid with a few large entries evicts another's small ones, by the number they are fewer")
  func weights() {
    var cache = Cache(capacity: 100, maxWeight: 100)
    for key in 0..<10 { cache.set(key, for: key, of: 1, weight: 2) }
    for key in 100..<200 { cache.set(key, for: key, of: 2, weight: 30) }
    #expect(cache.weight <= 100 && has(&cache, 0..<10).allSatisfy { $0 })
    #expect(has(&cache, [198, 199]) == [true, true])
    cache.set(0, for: 199, of: 2, weight: 1)
    #expect(cache.weight == 20 + 30 + 1, "what changes its weight counts as what it is")
    cache.set(0, for: 400, of: 1, weight: 1)
    cache.setWeight(30, of: 198)
    cache.setWeight(0, of: 400)
    cache.setWeight(500, of: 7777)
    cache.remove(400)
    #expect(cache.weight == 20 + 30 + 1, "a weight that is changed belongs to the same uid")
    cache.set(0, for: 300, of: 3, weight: 1000)
    #expect(has(&cache, [300]) == [false] && cache.weight == 51, "an entry that is too large evicts no other")
  }

  @Test("a look that is to be no use keeps an entry from being pushed out, or misses one")
  func looks() {
    var cache = Cache(capacity: 3)
    for key in 0..<3 { cache.set(key + 10, for: key, of: 1) }
    #expect(cache.peek(0) == 10 && cache.peek(7) == nil)
    #expect(cache.contains { $0 == 0 && $1 == 10 } && !cache.contains { key, _ in key == 7 })
    cache.set(13, for: 3, of: 1)
    #expect((0..<4).map { cache.peek($0) } == [nil, 11, 12, 13])
  }

  @Test("an entry that is given to another uid counts twice")
  func passedOn() {
    var cache = Cache(capacity: 4, maxWeight: 100)
    cache.set(1, for: 1, of: 1, weight: 10)
    cache.set(2, for: 1, of: 2, weight: 20)
    let value = cache[1]
    #expect(value == 2 && cache.count == 1 && cache.weight == 20)
    let changed = cache.change(1) { value -> Int in
      value += 1
      return value
    }
    #expect(changed == 3 && cache.change(7, { $0 }) == nil)
    cache.removeAll { key, _ in key == 1 }
    #expect(cache.count == 0 && cache.weight == 0)
  }

  @Test("against a plain list: who has most loses what they used first", arguments: [1, 3, 8, 33])
  func againstModel(capacity: Int) {
    var cache = Cache(capacity: capacity)
    var model: [(key: Int, uid: UInt32)] = []
    var random = SeededGenerator(seed: 7)
    for step in 0..<5000 {
      let key = Int.random(in: 0..<capacity * 2, using: &random)
      let uid = UInt32(key % 3)
      let index = model.firstIndex { $0.key == key }
      switch Int.random(in: 0..<4, using: &random) {
      case 0:
        cache.remove(key)
        if let index { model.remove(at: index) }
      case 1, 2:
        cache.set(step, for: key, of: uid)
        if let index { model.remove(at: index) }
        model.append((key, uid))
        if model.count > capacity {
          let counts = Dictionary(grouping: model, by: \.uid).mapValues(\.count)
          let most = counts.values.max()
          if let loser = model.firstIndex(where: { counts[$0.uid] == most }) { model.remove(at: loser) }
        }
      default:
        let value = cache[key]
        #expect((value != nil) == (index != nil))
        if let index { model.append(model.remove(at: index)) }
      }
      #expect(cache.count == model.count)
    }
    for entry in model {
      let value = cache[entry.key]
      #expect(value != nil)
    }
  }
}
