import Testing

@testable import Playground

@Suite struct ProofTargetTests {
  @Test(
    "Spellings of one address are equal (RFC 3986 section 6.2)",
    arguments: [
      ("http://A.example/b", "a.example", "/b"), ("http://a.example:80", "a.example", "/"),
      ("http://a.example:8080/%7Eu%2f", "A.EXAMPLE:8080", "/~u%2F"), ("http://a.example/%", "a.example", "/%"),
    ])
  func equal(htu: String, host: String, path: String) {
    #expect(ProofTarget(htu: htu) == ProofTarget(authority: host, path: path))
  }

  @Test(
    "Other addresses are not, and no address is none",
    arguments: [
      "http://a.example/c", "http://a.example/b/", "http://a.example/B", "http://a.example:81/b", "https://a.example/b",
      "http://a.example/b?", "http://a.example/b#", "http:///b", "", "a.example/b",
      "http://a.example/" + String(repeating: "b", count: 9000),
    ])
  func different(htu: String) {
    #expect(ProofTarget(htu: htu) != ProofTarget(authority: "a.example", path: "/b"))
  }
}
