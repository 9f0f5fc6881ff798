import HTTPMessages
import Testing

@Suite struct FormDecodingTests {
  @Test(
    "a query is taken apart as browsers write it",
    arguments: [
      ("a=1&b=2", [["a", "1"], ["b", "2"]]), ("a=%20+x&a=", [["a", "  x"], ["a", ""]]), ("a", [["a", ""]]),
      ("", []), ("&&a=b&", [["a", "b"]]), ("a=b=c", [["a", "b=c"]]), ("%C3%A9=%e2%82%ac", [["é", "€"]]),
    ])
  func decoded(text: String, expected: [[String]]) {
    #expect(FormEncoding.decode(text)?.map { [$0.name, $0.value] } == expected)
  }

  @Test("a malformed escape and bytes that are not UTF-8 are rejected", arguments: ["a=%", "a=%2", "a=%zz", "%ff=1"])
  func malformed(text: String) {
    #expect(FormEncoding.decode(text) == nil)
  }
}
