import PosternJSON
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

  @Test(
    "names that differ only behind their beginning, in a zero byte or in their length are told apart",
    arguments: [0, 1, 6, 7, 8, 15, 16, 254, 255, 256, 300])
  func similarNames(count: Int) {
    let start = String(repeating: "n", count: count)
    let names = [start, start + "a", start + "b", start + "\u{0}", start + "\u{0}\u{0}", start + "aa"]
    let object = JSONObject(names.enumerated().map { ($1, .integer(Int64($0))) })
    #expect(object.count == names.count)
    for (position, name) in names.enumerated() { #expect(object[name] == .integer(Int64(position))) }
    #expect(object[start + "c"] == nil)
    #expect(object[start + "ab"] == nil)
  }
}
