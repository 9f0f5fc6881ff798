import Testing

@testable import LocalServer

@Suite struct ListenAddressTests {
  @Test(
    "an address that other hosts can reach is listened on without being allowed explicitly",
    arguments: [
      ("127.0.0.1:9464", "127.0.0.1"), ("localhost:0", "127.0.0.1"), ("[::1]:80", "::1"), ("127.9.9.9:1", "127.9.9.9"),
      ("0.0.0.0:80", nil), ("[::]:80", nil), ("example.com:80", nil), ("127.0.0.1", nil), ("127.0.0.1:65536", nil),
      ("127.0.0.1:-1", nil), (":80", nil), ("10.0.0.1:80", nil),
    ] as [(String, String?)])
  func reading(_ text: String, _ host: String?) {
    #expect(ListenAddress(text, beyondLoopback: false)?.host == host)
    let others = ["0.0.0.0:80": "0.0.0.0", "[::]:80": "::", "10.0.0.1:80": "10.0.0.1", "example.com:80": "example.com"]
    #expect(ListenAddress(text, beyondLoopback: true)?.host == host ?? others[text])
  }
}
