import PosternSupport
import PosternTestSupport
import Testing

@Suite("The closest known name")
struct SuggestionTests {
  @Test(
    "is found for a typing error, and not for another word",
    arguments: [
      ("ordrs", "orders"), ("odrers", "orders"), ("Orders", "orders"), ("base_url", "baseUrl"), ("bsaeUrl", "baseUrl"),
      ("orderss", "orders"), ("payroll", nil), ("", nil), ("o", nil), (String(repeating: "o", count: 65), nil),
    ] as [(String, String?)])
  func closest(text: String, name: String?) {
    #expect(Suggestion.closest(to: text, among: ["orders", "baseUrl", "getInfo"]) == name)
  }

  /// The number of differences, by the definition.
  private func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
    var table = [[Int]](repeating: Array(0...right.count), count: left.count + 1)
    for row in 0...left.count { table[row][0] = row }
    for row in left.indices {
      for column in right.indices {
        var cost = min(
          table[row][column + 1] + 1, table[row + 1][column] + 1,
          table[row][column] + (left[row] == right[column] ? 0 : 1))
        if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
          cost = min(cost, table[row - 1][column - 1] + 1)
        }
        table[row + 1][column + 1] = cost
      }
    }
    return table[left.count][right.count]
  }

  @Test("another name is found than the closest one, or one that is not close")
  func definition() {
    var random = SeededGenerator(seed: 7)
    func word() -> String {
      let letters = (0..<Int.random(in: 0...12, using: &random)).map { _ in UInt8.random(in: 97...99, using: &random) }
      return String(decoding: letters, as: UTF8.self)
    }
    for _ in 0..<3000 {
      let (text, name) = (word(), word())
      let limit = min(3, max(1, text.utf8.count / 3))
      let isClose = distance(Array(text.utf8), Array(name.utf8)) <= limit
      #expect(Suggestion.closest(to: text, among: [name]) == (isClose ? name : nil), "\(text), \(name)")
    }
  }

  @Test("thousands of names are compared for one mistake, or the order of names decides")
  func bounds() {
    let names = (0..<Suggestion.maxNames).map { "resource-\($0)" }
    #expect(Suggestion.closest(to: "resourse-7", among: names) == "resource-7")
    #expect(Suggestion.closest(to: "resourse-7", among: names + ["one more"]) == nil)
    #expect(Suggestion.closest(to: "order", among: ["orders", "border"]) == "border")
    #expect(Suggestion.closest(to: "order", among: ["border", "orders"]) == "border")
    #expect(Suggestion.closest(to: "order", among: [String(repeating: "order", count: 1 << 18)]) == nil)
  }

  @Test("ends a message, where there is one")
  func messages() {
    #expect(Suggestion.appended(to: "none", for: "ordrs", among: ["orders"]) == "none; did you mean orders?")
    #expect(Suggestion.appended(to: "none", for: "x", among: ["orders"]) == "none")
    #expect(Suggestion.message(for: "jsn", among: ["json", "text"]) == "must be one of json, text; did you mean json?")
  }
}
