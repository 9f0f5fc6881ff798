import PosternSupport
import PosternTestSupport
import Testing

/// The cache against a plain list in order of use.
@Suite struct BoundedCacheTests {
  @Test("the one that was longest not used goes first, a look counts as a use", arguments: [1, 2, 3, 8, 33])
  func againstModel(capacity: Int) {
    var cache = BoundedCache<Int, Int>(capacity: capacity)
    var model: [(key: Int, value: Int)] = []
    var random = SeededGenerator(seed: UInt64(capacity))
    for step in 0..<5000 {
      let key = Int(random.next() % UInt64(capacity * 2))
      let index = model.firstIndex { $0.key == key }
      switch random.next() % 4 {
      case 0:
        cache[key] = nil
        if let index { model.remove(at: index) }
      case 1, 2:
        cache[key] = step
        if let index { model.remove(at: index) } else if model.count == capacity { model.removeFirst() }
        model.append((key, step))
      default:
        let value = cache[key]
        #expect(value == index.map { model[$0].value })
        if let index { model.append(model.remove(at: index)) }
      }
      #expect(cache.count == model.count)
    }
    for entry in model {
      let value = cache[entry.key]
      #expect(value == entry.value)
    }
  }
}
