import Testing

@testable import Playground

@Suite struct RedirectURITests {
  static let registered = [
    "http://127.0.0.1/callback", "http://[::1]:80/callback", "http://localhost/callback", "https://a.example/cb?x=1",
  ]

  @Test(
    "Registered byte by byte, or at any port of a loopback address",
    arguments: [
      "http://127.0.0.1/callback", "http://127.0.0.1:1/callback", "http://127.0.0.1:65535/callback",
      "http://[::1]/callback", "http://[::1]:4711/callback", "http://localhost/callback", "https://a.example/cb?x=1",
    ])
  func accepted(uri: String) { #expect(RedirectURI.isRegistered(uri, among: Self.registered)) }

  @Test(
    "Anything else is rejected: each of these has been an open redirector somewhere",
    arguments: [
      "", "http://127.0.0.1:0/callback", "http://127.0.0.1:65536/callback", "http://127.0.0.1:/callback",
      "http://127.0.0.1:80:80/callback", "http://127.0.0.1:80@evil.example/callback", "http://127.0.0.1@evil.example",
      "http://127.0.0.1.evil.example/callback", "http://127.0.0.1/callback/", "http://127.0.0.1/callback?x=1",
      "http://127.0.0.1/Callback", "http://127.0.0.1/callback#x", "https://127.0.0.1/callback",
      "http://127.0.0.2/callback", "http://localhost:4711/callback", "http://LOCALHOST/callback",
      "https://a.example/cb", "https://a.example/cb?x=1&y=2", "https://a.example:443/cb?x=1",
      "http://127.0.0.1:４７/callback",
    ])
  func rejected(uri: String) { #expect(!RedirectURI.isRegistered(uri, among: Self.registered)) }

  @Test("Parameters are added to a query that is already there")
  func adding() {
    let added = RedirectURI.adding([("a", "b c&ü")], to: "http://x/?y", asFragment: false)
    #expect(added == "http://x/?y&a=b%20c%26%C3%BC")
    #expect(RedirectURI.adding([("a", "")], to: "http://x/", asFragment: true) == "http://x/#a=")
  }
}
