import PosternSupport
import Testing

@Suite("Counts by key")
struct DictionaryCountsTests {
  @Test("a count has a limit, and a key without a count takes no space")
  func counts() {
    var counts: [String: Int] = [:]
    #expect(counts.countUp("a", below: 2) && counts.countUp("a", below: 2))
    #expect(!counts.countUp("a", below: 2) && counts["a"] == 2)
    #expect(!counts.countUp("b", below: 0) && counts["b"] == nil)
    counts.countDown("a")
    #expect(counts["a"] == 1)
    counts.countDown("a")
    counts.countDown("b")
    #expect(counts.isEmpty)
  }
}
