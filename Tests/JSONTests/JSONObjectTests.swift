import JSON
import Testing

@Suite("Object: ordered members, each once")
struct JSONObjectTests {
  @Test("behaves the same below and above the size at which it gets an index", arguments: [3, 15, 16, 17, 100])
  func editing(count: Int) {
    var object = JSONObject()
    for number in 0..<count { object["k\(number)"] = .integer(Int64(number)) }
    object["k1"] = "changed"
    object["k0"] = nil
    object["new"] = true
    #expect(object.count == count)
    #expect(object["k0"] == nil)
    #expect(object["k1"] == "changed")
    #expect(object["k2"] == .integer(2))
    #expect(object.names.last == "new")
    #expect(object.names.first == "k1")
  }

  @Test("equality and hash ignore order, but not values")
  func equality() {
    let left: JSONObject = ["a": 1, "b": [2]]
    let right: JSONObject = ["b": [2], "a": 1]
    #expect(left == right)
    #expect(left.hashValue == right.hashValue)
    #expect(left != ["a": 1, "b": [3]])
    #expect(left != ["a": 1])
  }

  @Test(
    "names that only look alike are two members, below and above the size of the index: one parser, no trap",
    arguments: [0, 14, 30])
  func canonicalEquivalents(others: Int) throws {
    let more = (0..<others).map { "\"k\($0)\":0," }.joined()
    let object = try #require(try JSONParser().parse("{\(more)\"\u{E9}\":1,\"e\u{301}\":2}").objectValue)
    #expect(object["\u{E9}"] == 1)
    #expect(object["e\u{301}"] == 2)
    #expect(object.count == others + 2)
  }
}
