import Testing

@testable import LocalServer

@Suite("Header framing")
struct HeaderFramerTests {
  typealias Violation = HeaderBlock.Violation

  static let accepted: [(String, [String])] = [
    ("Content-Length: 2\r\n\r\n{}", ["={}"]),
    ("content-length:2\r\n\r\n{}CONTENT-LENGTH:  2 \t\r\n\r\n[]", ["={}", "=[]"]),
    ("\r\n \tContent-Length: 2\r\n\r\n{}", ["={}"]),
    ("Content-Length: 0\r\n\r\nContent-Length: 1\r\n\r\nx", ["=", "=x"]),
    ("Content-Length: 0000000000000000000000002\r\n\r\n{}", ["={}"]),
    ("Content-Length: 2\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n{}", ["={}"]),
    ("Content-Length: 2\r\nContent-Type: application/vscode-jsonrpc; charset=utf8\r\n\r\n{}", ["={}"]),
    ("Content-Type: a/b;charset=\"UTF-8\"\r\nContent-Length: 2\r\n\r\n{}", ["={}"]),
    ("Content-Type: a/b\r\nContent-Length: 2\r\n\r\n{}", ["={}"]),
    ("Content-Type: a/b; version=1; q\r\nContent-Length: 2\r\n\r\n{}", ["={}"]),
    ("Content-Length: 2\r\nX-Trace: a:b c\r\n\r\n{}", ["={}"]),
    // A body is not looked at: what is in it is the parser's matter, and the next message is where it ends.
    ("Content-Length: 4\r\n\r\n\r\n\r\nContent-Length: 2\r\n\r\n{}", ["=\r\n\r\n", "={}"]),
  ]

  @Test("messages are cut apart, one-shot and byte by byte", arguments: accepted)
  func accepts(input: String, expected: [String]) {
    #expect(FramerRun.events(input) == expected)
    #expect(FramerRun.events(Array(input.utf8).map { [$0] }) == expected, "byte by byte")
  }

  static let rejected: [(String, Violation)] = [
    ("Content-Type: a/b\r\n\r\n", .contentLengthMissing),
    ("Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", .contentLengthRepeated),
    ("Content-Length: 2\r\ncontent-length: 3\r\n\r\n{}", .contentLengthRepeated),
    ("Content-Length:\r\n\r\n", .contentLengthNotANumber), ("Content-Length: \r\n\r\n", .contentLengthNotANumber),
    ("Content-Length: -1\r\n\r\n", .contentLengthNotANumber), ("Content-Length: +1\r\n\r\n", .contentLengthNotANumber),
    ("Content-Length: 0x2\r\n\r\n", .contentLengthNotANumber),
    ("Content-Length: 1e3\r\n\r\n", .contentLengthNotANumber),
    ("Content-Length: 2.0\r\n\r\n", .contentLengthNotANumber),
    ("Content-Length: 2, 2\r\n\r\n", .contentLengthNotANumber),
    ("Content-Length: 1 2\r\n\r\n", .contentLengthNotANumber),
    ("Content-Length: \u{0662}\r\n\r\n", .contentLengthNotANumber),
    ("Content-Length: 1_000\r\n\r\n", .contentLengthNotANumber),
    ("Content-Length: 1000000000000000000\r\n\r\n", .contentLengthOutOfRange),
    ("Content-Length: 9223372036854775808\r\n\r\n", .contentLengthOutOfRange),
    ("Content-Length: 18446744073709551617\r\n\r\n", .contentLengthOutOfRange),
    ("Content-Length: \(String(repeating: "9", count: 3000))\r\n\r\n", .contentLengthOutOfRange),
    ("Content-Length: 2\n\n{}", .lineEnding), ("Content-Length: 2\r\n\n{}", .lineEnding),
    ("Content-Length: 2\r\r\n\r\n{}", .malformedLine), ("C\n", .lineEnding),
    ("Content-Length 2\r\n\r\n", .malformedLine), ("Content-Length : 2\r\n\r\n", .malformedLine),
    ("CONNECT / HTTP/1.1\r\n\r\n", .malformedLine), ("Content-Length: 2\r\n : x\r\n\r\n", .malformedLine),
    ("Content-Length: 2\r\n: x\r\n\r\n", .malformedLine), ("Content-Length: 2\r\nX: a\u{0}b\r\n\r\n", .malformedLine),
    ("Content-Length: 2\r\n folded\r\n\r\n", .malformedLine), ("C\u{e9}: 2\r\n\r\n", .malformedLine),
    ("Content-Length: 2\r\nContent-Type: a/b; charset=latin1\r\n\r\n{}", .unknownCharset),
    ("Content-Length: 2\r\nContent-Type: a/b; charset=\r\n\r\n{}", .unknownCharset),
    ("Content-Length: 2\r\nContent-Type: a/b; charset=utf-16; charset=utf-8\r\n\r\n{}", .unknownCharset),
  ]

  @Test("a header block that cannot be used is one violation, and nothing after it is read", arguments: rejected)
  func rejects(input: String, violation: Violation) {
    let expected = ["violation: " + violation.reason]
    let followed = input + "Content-Length: 2\r\n\r\n{}"
    #expect(FramerRun.events(followed) == expected)
    #expect(FramerRun.events(Array(followed.utf8).map { [$0] }) == expected, "byte by byte")
  }

  @Test("a header block may have 4096 bytes and not one more", arguments: [(0, true), (1, false), (5000, false)])
  func blockLength(excess: Int, fits: Bool) {
    let frame = "Content-Length: 2\r\nX: " + "\r\n\r\n"
    let block = frame.replacing("X: ", with: "X: " + String(repeating: "a", count: 4096 - frame.utf8.count + excess))
    let expected = fits ? ["={}"] : ["violation: " + Violation.blockTooLong.reason]
    #expect(FramerRun.events(block + "{}") == expected)
    #expect(FramerRun.events(Array((block + "{}").utf8).map { [$0] }) == expected, "byte by byte")
  }

  @Test("a line without an end is rejected at 4096 bytes, not collected")
  func endlessLine() {
    let expected = ["violation: " + Violation.blockTooLong.reason]
    #expect(FramerRun.events("C" + String(repeating: "a", count: 100_000), end: false) == expected)
  }

  @Test("a body over the limit is reported from its header alone, skipped, and the next message comes")
  func oversized() {
    let body = String(repeating: "x", count: 11)
    let input = "Content-Length: 11\r\n\r\n\(body)Content-Length: 10\r\n\r\n0123456789"
    #expect(FramerRun.events(input, messageBytes: 10) == ["oversized: 10", "=0123456789"])
    #expect(FramerRun.events(Array(input.utf8).map { [$0] }, messageBytes: 10) == ["oversized: 10", "=0123456789"])
    #expect(
      FramerRun.events("Content-Length: 999999999999999999\r\n\r\nabc", messageBytes: 10) == ["oversized: 10"],
      "the largest length that is a number at all")
  }

  @Test(
    "a message cut off by the end of the input is malformed, once",
    arguments: [
      ("Content-Len", 1), ("Content-Length: 5\r\n", 1), ("Content-Length: 5\r\n\r\n", 1),
      ("Content-Length: 5\r\n\r\nabc", 1),
      ("Content-Length: 5\r\n\r\nabcde", 0), ("Content-Length: 5\r\n\r\nabcdeC", 1),
    ])
  func cutOff(input: String, count: Int) {
    let malformed = FramerRun.events(input).filter { $0.hasPrefix("malformed") }
    #expect(malformed.count == count)
  }

  @Test("a promised length allocates nothing")
  func promise() {
    var framer = InboundFramer(messageBytes: 1 << 30, depth: 128)
    var events: [InboundEvent] = []
    framer.receive(MessageBytes(Array("Content-Length: 1073741824\r\n\r\nabc".utf8)), into: &events)
    #expect(events.isEmpty)
    #expect(framer.message.collectedCapacity < 4096)
  }

  private static func framed(_ bodies: [String]) -> String {
    bodies.map { "Content-Length: \($0.utf8.count)\r\n\r\n\($0)" }.joined()
  }

  @Test("a body of too many values is reported once and dropped, and the next message comes")
  func tooComplex() {
    let input = Self.framed([" [1,2]", "\n[{},{},{}]", "{\"a\":[1]}", "[[[[", "123"])
    let expected = ["= [1,2]", "too complex: 3", "={\"a\":[1]}", "too complex: 3", "=123"]
    #expect(FramerRun.events(input, values: 3) == expected)
    #expect(FramerRun.events(Array(input.utf8).map { [$0] }, values: 3) == expected, "byte by byte")
  }

  @Test(
    "a body that cannot become JSON never gets to the parser, nor one nested too deeply",
    arguments: [
      ("{\"a\":x}", JSONDefect.valueExpected), ("[1\u{0},2]", .commaExpected), ("[[[1]]]", .nesting),
      ("[1}", .bracketMismatch),
    ])
  func malformed(body: String, defect: JSONDefect) {
    let input = Self.framed([body, "{}"])
    let expected = ["malformed: " + defect.reason, "={}"]
    #expect(FramerRun.events(input, depth: 2) == expected)
    #expect(FramerRun.events(Array(input.utf8).map { [$0] }, depth: 2) == expected, "byte by byte")
  }

  @Test("however messages are split, the same events come out", arguments: 0..<20)
  func splits(seed: Int) {
    var generator = JSONGenerator(seed: UInt64(seed) &+ 2000)
    for _ in 0..<30 {
      var input: [UInt8] = []
      for _ in 0..<Int.random(in: 1...5, using: &generator.numbers) {
        let body = generator.text(depth: 2)
        let head = Array("Content-Length: \(body.count)\r\n\r\n".utf8)
        input += (Int.random(in: 0..<4, using: &generator.numbers) == 0 ? generator.damaged(head) : head) + body
      }
      guard input.first.map({ "Cc".utf8.contains($0) }) == true else { continue }
      let limit = Int.random(in: 20...200, using: &generator.numbers)
      let values = Int.random(in: 1...20, using: &generator.numbers)
      let expected = FramerRun.events([input], messageBytes: limit, values: values)
      #expect(FramerRun.events(input.map { [$0] }, messageBytes: limit, values: values) == expected)
      #expect(FramerRun.events(generator.pieces(input), messageBytes: limit, values: values) == expected)
    }
  }
}
