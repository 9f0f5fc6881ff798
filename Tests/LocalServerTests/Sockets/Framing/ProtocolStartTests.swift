import Testing

@testable import LocalServer

/// The protocol of a connection, by the bytes that have come.
@Suite("Start of a protocol")
struct ProtocolStartTests {
  @Test(
    "A method in capital letters and a space begin HTTP, whichever it is",
    arguments: ["GET /", "POST /rpc", "COPY ", "CHECKOUT /a", "VERSION-CONTROL /a", "CONNECT a:1"])
  func http(text: String) { #expect(ProtocolStart(Array(text.utf8)) == .http) }

  @Test(
    "Brackets, white space, Content-Length in any case and everything else are for messages",
    arguments: [
      "{", "[", "\n", " {", " GET /", "Content-Length: 5", "Co", "CONTENT-LENGTH: 5", "c", "get / HTTP/1.1", "\u{16}",
      "GET\n",
      String(repeating: "C", count: 40),
    ])
  func messages(text: String) { #expect(ProtocolStart(Array(text.utf8)) == .messages) }

  @Test("What may become either is not decided yet", arguments: ["", "C", "CO", "CONTENT-", "GET"])
  func undecided(text: String) { #expect(ProtocolStart(Array(text.utf8)) == .undecided) }
}
