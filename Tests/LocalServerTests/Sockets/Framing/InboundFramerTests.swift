import Testing

@testable import LocalServer

@Suite("The first byte decides the framing")
struct InboundFramerTests {
  @Test(
    "the first non-blank byte decides",
    arguments: [
      ("", nil), (" \r\n\t", nil), ("{", .stream), ("\n\n[", .stream), ("C", .headers), ("  c", .headers),
    ] as [(String, Framing?)])
  func decides(input: String, framing: Framing?) {
    var framer = InboundFramer(messageBytes: 100, depth: 8)
    var events: [InboundEvent] = []
    for byte in input.utf8 { framer.receive(MessageBytes([byte]), into: &events) }
    #expect(framer.framing == framing)
    #expect(events.isEmpty)
  }

  @Test(
    "any other first byte is one violation, and nothing after it is looked at",
    arguments: [
      "GET / HTTP/1.1\r\n\r\n", "\"a\"", "1", "]", "}", "x{}", "\u{0}{}", "\u{FEFF}{}", "D", "  \nnull",
    ])
  func rejects(input: String) {
    let events = FramerRun.events([Array(input.utf8), Array("\n{}\n".utf8)])
    #expect(events.count == 1)
    #expect(events.allSatisfy { $0.hasPrefix("violation") })
  }

  @Test("the framing stays: headers in a stream and texts between headers are errors")
  func stays() {
    #expect(
      FramerRun.events("{}\nContent-Length: 2\r\n\r\n{}\n") == [
        "={}", "malformed: " + JSONDefect.textExpected.reason, "={}",
      ])
    #expect(
      FramerRun.events("Content-Length: 2\r\n\r\n{}{}\r\n") == [
        "={}", "violation: " + HeaderBlock.Violation.malformedLine.reason,
      ])
  }
}
