import Testing

@testable import LocalServer

@Suite("Stream framing")
struct StreamFramerTests {
  static let comma = "malformed: " + JSONDefect.commaExpected.reason
  static let start = "malformed: " + JSONDefect.textExpected.reason
  static let control = "malformed: " + JSONDefect.controlCharacter.reason
  static let cutOff = "malformed: " + JSONDefect.cutOff.reason
  static let nesting = "malformed: " + JSONDefect.nesting.reason

  static let cases: [(String, [String])] = [
    ("", []), (" \n\t\r\n", []),
    ("{}\n", ["={}"]), ("{}", ["={}"]), ("\n\n{}\r\n[]\r\n", ["={}", "=[]"]),
    ("{}{}", ["={}", "+={}"]), ("{} []\t{}\n{}", ["={}", "+=[]", "+={}", "={}"]),
    // A text over several lines, and the next one behind its last bracket.
    ("{\n \"a\": [\n  1\n ]\n}[]\n[]", ["={\n \"a\": [\n  1\n ]\n}", "+=[]", "=[]"]),
    // A malformed text costs its line and no more.
    ("{\"a\" 1}\n{}", ["malformed: " + JSONDefect.colonExpected.reason, "={}"]),
    ("[1 2] {} {}\n{}", [comma, "={}"]), ("{} x {}\n{}", ["={}", "+" + start, "={}"]),
    ("[1\n2] {}\n[]", [comma, "=[]"]),
    // The wrong byte is the line feed itself: nothing more is lost.
    ("[\"a\n{}\n", [control, "={}"]), ("{\"a\n[]", [control, "=[]"]),
    ("[tru\n{}", ["malformed: " + JSONDefect.literal.reason, "={}"]),
    // Something between texts that starts no text.
    ("{}\n1\n\"a\"\nnull\n}\n{}", ["={}", start, start, start, start, "={}"]),
    ("{},{}\n{}", ["={}", "+" + start, "={}"]),
    ("{}\u{0}\n{}", ["={}", "+" + start, "={}"]),
    // The input ends.
    ("{\"a\":", [cutOff]), ("{}\n[", ["={}", cutOff]), ("{}[", ["={}", "+" + cutOff]), ("{}\nx", ["={}", start]),
    ("{}\n[\"a\\", ["={}", cutOff]),
  ]

  @Test("texts are cut apart, errors cost their line, lines are told apart", arguments: cases)
  func cuts(input: String, expected: [String]) {
    #expect(FramerRun.events(input) == expected)
    #expect(FramerRun.events(Array(input.utf8).map { [$0] }) == expected, "byte by byte")
  }

  static let limited: [(String, [String])] = [
    ("[12345678]\n{}", ["=[12345678]", "={}"]),
    ("[123456789]\n{}", ["oversized: 10", "={}"]),
    ("{}[123456789] {}", ["={}", "+oversized: 10", "+={}"]),
    // Brackets and quotes of the discarded part still count.
    ("[\"0123456789]\", [\n]] {}", ["oversized: 10", "+={}"]),
    // Malformed while it is discarded: no second event, and the line is skipped.
    ("[1234567890 x {} {}\n{}", ["oversized: 10", "={}"]),
    // Malformed at the byte that would be one too many, and right before.
    ("[12345678 9]\n{}", ["malformed: " + JSONDefect.commaExpected.reason, "={}"]),
    ("[12345678 x\n{}", ["malformed: " + JSONDefect.commaExpected.reason, "={}"]),
    ("[123456789 x\n{}", ["oversized: 10", "={}"]),
    ("[1234567890", ["oversized: 10"]),
    ("[123456789", ["malformed: " + JSONDefect.cutOff.reason]),
  ]

  @Test("a text over the limit is reported once and skipped to its own end", arguments: limited)
  func oversized(input: String, expected: [String]) {
    #expect(FramerRun.events(input, messageBytes: 10) == expected)
    #expect(FramerRun.events(Array(input.utf8).map { [$0] }, messageBytes: 10) == expected, "byte by byte")
  }

  @Test("nesting over the limit is malformed and costs its line")
  func nesting() {
    let deep = String(repeating: "[", count: 129) + String(repeating: "]", count: 129)
    let allowed = String(repeating: "[", count: 128) + String(repeating: "]", count: 128)
    #expect(FramerRun.events(deep + "{}\n" + allowed) == [Self.nesting, "=" + allowed])
  }

  @Test("an endless text over the limit is not kept: the buffer does not grow with it")
  func discards() {
    var framer = InboundFramer(messageBytes: 1000, depth: 8)
    var events: [InboundEvent] = []
    framer.receive(MessageBytes(Array("[\"".utf8)), into: &events)
    let chunk = MessageBytes([UInt8](repeating: UInt8(ascii: "a"), count: 1 << 16))
    for _ in 0..<64 { framer.receive(chunk, into: &events) }
    #expect(events == [.oversized(limit: 1000, sharesLine: false)])
    #expect(framer.isMidMessage)
    framer.receive(MessageBytes(Array("\"]\n{}".utf8)), into: &events)
    #expect(events.map(FramerRun.line) == ["oversized: 1000", "={}"])
    #expect(!framer.isMidMessage)
  }

  @Test(
    "only an unfinished text counts as one that may stall",
    arguments: [
      ("", false), ("\n ", false), ("{}", false), ("{", true), ("{}\n[1,", true), ("{} x", false), ("[1 2", false),
      ("{}\n", false),
    ])
  func midMessage(input: String, expected: Bool) {
    var framer = InboundFramer(messageBytes: 100, depth: 8)
    var events: [InboundEvent] = []
    framer.receive(MessageBytes(Array(input.utf8)), into: &events)
    #expect(framer.isMidMessage == expected)
  }

  @Test("a text of too many values is reported once and dropped, and the next text comes")
  func tooComplex() {
    let input = "[1,2]\n[1,2,3,4,5,6]{}\n[[],[]]"
    let expected = ["=[1,2]", "too complex: 3", "+={}", "=[[],[]]"]
    #expect(FramerRun.events(input, values: 3) == expected)
    #expect(FramerRun.events(Array(input.utf8).map { [$0] }, values: 3) == expected, "byte by byte")
    // What is wrong behind the one value too many costs the line, and no second answer.
    #expect(FramerRun.events("[1,2,3,x]{}\n{}", values: 3) == ["too complex: 3", "={}"])
  }

  @Test("a lower limit of bytes holds from the next read on, also for the current text")
  func lowerLimit() {
    var framer = InboundFramer(messageBytes: 100, depth: 8, values: 100)
    var events: [InboundEvent] = []
    let text = Array("[1,2,3,4,5,6,7]".utf8)
    framer.receive(MessageBytes(text + text.prefix(8)), into: &events)
    framer.limitMessages(to: 10)
    framer.receive(MessageBytes(Array(text.dropFirst(8)) + Array("[1]".utf8)), into: &events)
    #expect(events.map(FramerRun.line) == ["=[1,2,3,4,5,6,7]", "+oversized: 10", "+=[1]"])
  }

  @Test("however a stream is split, the same events come out", arguments: 0..<40)
  func splits(seed: Int) {
    var generator = JSONGenerator(seed: UInt64(seed) &+ 1000)
    for _ in 0..<30 {
      var stream: [UInt8] = []
      for _ in 0..<Int.random(in: 1...6, using: &generator.numbers) {
        let text = generator.text(depth: 2)
        stream += Int.random(in: 0..<3, using: &generator.numbers) == 0 ? generator.damaged(text) : text
        stream += generator.blank()
      }
      let limit = Int.random(in: 5...120, using: &generator.numbers)
      let depth = Int.random(in: 1...6, using: &generator.numbers)
      let values = Int.random(in: 1...20, using: &generator.numbers)
      let expected = FramerRun.events([stream], messageBytes: limit, depth: depth, values: values)
      let single = FramerRun.events(stream.map { [$0] }, messageBytes: limit, depth: depth, values: values)
      let pieces = FramerRun.events(generator.pieces(stream), messageBytes: limit, depth: depth, values: values)
      #expect(single == expected, "\(String(decoding: stream, as: UTF8.self))")
      #expect(pieces == expected, "\(String(decoding: stream, as: UTF8.self))")
    }
  }
}
