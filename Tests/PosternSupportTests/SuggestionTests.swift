import PosternSupport
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

  @Test("ends a message, where there is one")
  func messages() {
    #expect(Suggestion.appended(to: "none", for: "ordrs", among: ["orders"]) == "none; did you mean orders?")
    #expect(Suggestion.appended(to: "none", for: "x", among: ["orders"]) == "none")
    #expect(Suggestion.message(for: "jsn", among: ["json", "text"]) == "must be one of json, text; did you mean json?")
  }
}
