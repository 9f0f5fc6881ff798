import Testing

@testable import LocalServer

@Suite("JSON text scanner")
struct JSONTextScannerTests {
  static let whole = [
    "{}", "[]", "[ ]", "{ \n}", "[[],{}]", #"{"a":1}"#, #"{"a":{"b":[1,2,{"c":null}]}}"#, #"{"":""}"#,
    #"["\"\\\/\b\f\n\r\t\u0041\uABCD\uabcd"]"#, "[0,-0,1,-1,10,1.0,0.5,1e1,1E+1,1e-1,0e0,-1.25e-10]",
    "[true,false,null]",
    "[ true , false ]", "{\"a\" : 1 , \"b\" : 2 }", "\t[1\r\n,\t2]".trimmed, #"["{[,:]}"]"#, #"["é🜚\#u{7f}"]"#,
    #"["eight by"]"#, #"["eight bytes and more, over the word size"]"#,
  ]

  @Test("a whole text ends at its last bracket, whatever follows", arguments: whole, ["", " ", "x", "{", "]", "\n{}"])
  func completes(text: String, rest: String) {
    #expect(Self.scan(Array((text + rest).utf8)) == .complete(end: text.utf8.count))
  }

  @Test("every cut of a whole text is incomplete, never complete and never malformed", arguments: whole)
  func incomplete(text: String) {
    let bytes = Array(text.utf8)
    for length in 1..<bytes.count {
      #expect(Self.scan(Array(bytes[..<length])) == .incomplete, "\(length) bytes of \(text)")
    }
  }

  static let broken: [(String, Int, JSONDefect)] = [
    ("x", 0, .textExpected), ("1", 0, .textExpected), ("\"a\"", 0, .textExpected), ("}", 0, .textExpected),
    ("[}", 1, .bracketMismatch), ("{]", 1, .bracketMismatch), ("[1}", 2, .bracketMismatch),
    (#"{"a":1]"#, 6, .bracketMismatch), ("[[1]}", 4, .bracketMismatch), ("[{}}", 3, .bracketMismatch),
    ("{1", 1, .memberNameExpected), ("{,", 1, .memberNameExpected), (#"{"a":1,}"#, 7, .memberNameExpected),
    (#"{"a":1,1"#, 7, .memberNameExpected), ("{'a'", 1, .memberNameExpected), ("{a", 1, .memberNameExpected),
    (#"{"a"}"#, 4, .colonExpected), (#"{"a" 1"#, 5, .colonExpected), (#"{"a","#, 4, .colonExpected),
    (#"{"a"::"#, 5, .valueExpected), (#"{"a":}"#, 5, .valueExpected), (#"{"a":,"#, 5, .valueExpected),
    ("[,", 1, .valueExpected), ("[1,]", 3, .valueExpected), ("[1,,", 3, .valueExpected), ("[+1", 1, .valueExpected),
    ("[.5", 1, .valueExpected), ("[NaN", 1, .valueExpected), ("['a'", 1, .valueExpected), ("[/*", 1, .valueExpected),
    ("[1 2", 3, .commaExpected), ("[1\"", 2, .commaExpected), ("[[] []", 4, .commaExpected),
    ("[true1", 5, .commaExpected),
    (#"{"a":1 "b""#, 7, .commaExpected), (#"["a" "b""#, 5, .commaExpected), (#"["a":"#, 4, .commaExpected),
    (#"{"a":{}:"#, 7, .commaExpected), ("[1:", 2, .commaExpected), ("[nulll", 5, .commaExpected),
    ("[tru]", 4, .literal), ("[True", 1, .valueExpected), ("[nul ", 4, .literal), ("[falsy", 5, .literal),
    ("[-]", 2, .number), ("[-a", 2, .number), ("[01", 2, .number), ("[-00", 3, .number), ("[1.]", 3, .number),
    ("[1.e", 3, .number), ("[1e]", 3, .number), ("[1e+]", 4, .number), ("[1e+-", 4, .number),
    ("[1.5.", 4, .commaExpected),
    ("[1e5e", 4, .commaExpected), ("[1e5.", 4, .commaExpected), ("[0x", 2, .commaExpected),
    ("[\"a\n", 3, .controlCharacter), ("[\"\u{0}", 2, .controlCharacter), ("[\"\u{1f}", 2, .controlCharacter),
    ("[\"12345678\t", 10, .controlCharacter), ("{\"a\r", 3, .controlCharacter),
    (#"["\x"#, 3, .escape), (#"["\u12G"#, 6, .escape), (#"["\u"]"#, 4, .escape), (#"["\ "#, 3, .escape),
    ("[\"\\\n", 3, .escape), ("[\"\\u00\n", 6, .escape),
    ("[\u{0B}", 1, .valueExpected), ("[1\u{0C}", 2, .commaExpected), ("[\u{FEFF}", 1, .valueExpected),
  ]

  @Test("a byte that is not allowed is found at its position, one-shot and byte by byte", arguments: broken)
  func malformed(text: String, offset: Int, defect: JSONDefect) {
    let bytes = Array(text.utf8)
    #expect(Self.scan(bytes) == .malformed(at: offset, defect))
    #expect(Self.scan(bytes.map { [$0] }) == .malformed(at: offset, defect))
  }

  @Test(
    "the depth limit counts open brackets, also beyond one word of the bit stack",
    arguments: [1, 2, 63, 64, 65, 128, 1000])
  func nesting(limit: Int) {
    let open = (0..<limit).map { $0 % 2 == 0 ? "[" : "{\"a\":" }.joined()
    let close = (0..<limit).reversed().map { $0 % 2 == 0 ? "]" : "}" }.joined()
    let inner = limit % 2 == 0 ? "1" : ""
    let text = Array((open + inner + close).utf8)
    #expect(Self.scan(text, maximumDepth: limit) == .complete(end: text.count))
    let deeper = Array((open + (limit % 2 == 0 ? "[" : "{")).utf8)
    #expect(Self.scan(deeper, maximumDepth: limit) == .malformed(at: deeper.count - 1, .nesting))
  }

  @Test("a mismatch deep inside is seen at every level of the bit stack", arguments: [1, 63, 64, 65, 127, 128])
  func deepMismatch(depth: Int) {
    let text = Array((String(repeating: "[", count: depth) + "}").utf8)
    #expect(Self.scan(text) == .malformed(at: depth, .bracketMismatch))
  }

  @Test("after a reset nothing of the text before is left")
  func reset() {
    var scanner = JSONTextScanner(maximumDepth: 4)
    _ = Array("[[{\"a\":[".utf8).withUnsafeBytes { scanner.scan($0, from: 0) }
    scanner.reset()
    #expect(Array("{\"b\":2}".utf8).withUnsafeBytes { scanner.scan($0, from: 0) } == .complete(end: 7))
  }

  @Test("random texts, whole and damaged, get the verdict of a recogniser written the other way", arguments: 0..<40)
  func agreesWithRecogniser(seed: Int) {
    var generator = JSONGenerator(seed: UInt64(seed))
    for _ in 0..<100 {
      let text = generator.text()
      let bytes = Bool.random(using: &generator.numbers) ? text : generator.damaged(text)
      guard !bytes.isEmpty else { continue }
      let expected = JSONRecogniser.verdict(bytes)
      let verdicts = [Self.scan(bytes), Self.scan(bytes.map { [$0] }), Self.scan(generator.pieces(bytes))]
      for verdict in verdicts {
        let simple: JSONRecogniser.Verdict =
          switch verdict {
          case .incomplete: .incomplete
          case .complete(let end): .complete(end: end)
          case .malformed(let at, _), .tooManyValues(let at): .malformed(at: at)
          }
        #expect(simple == expected, "\(String(decoding: bytes, as: UTF8.self))")
      }
    }
  }

  @Test(
    "a special byte is found at every position of the eight-byte words",
    arguments: [0x22, 0x5C, 0x00, 0x0A, 0x1F] as [UInt8])
  func plainRun(special: UInt8) {
    // 0x21, 0x23 and 0x80 up are next to the specials in one bit or another.
    for filler: UInt8 in [0x20, 0x21, 0x23, 0x5B, 0x5D, 0x80, 0xA2, 0xDC, 0xFF] {
      for length in 0..<40 {
        let bytes = [UInt8](repeating: filler, count: length) + [special] + [special, filler]
        let end = bytes.withUnsafeBytes { buffer in
          buffer.baseAddress.map { PlainRun.end(of: $0, from: 0, to: buffer.count) }
        }
        #expect(end == length)
      }
    }
  }

  static let counted: [(String, Int)] = [
    ("{}", 1), ("[]", 1), ("[{},{}]", 3), ("[[[]]]", 3), (#"{"a":1,"b":[true,null,"x,y",{"c":-1.5e3}]}"#, 8),
    ("[ 1 , 2\n, 3 ]", 4), (#"["[{,:\"]"]"#, 2), (#"{"only a name":{}}"#, 2), ("[0,0,0,0,0,0,0,0,0]", 10),
  ]

  @Test(
    "values are counted, names, brackets in strings and white space are not, one-shot and byte by byte",
    arguments: counted)
  func values(text: String, count: Int) {
    let bytes = Array(text.utf8)
    for pieces in [[bytes], bytes.map { [$0] }] {
      #expect(Self.scan(pieces, maximumValues: count) == .complete(end: bytes.count))
      guard count > 1 else { continue }
      let verdict = Self.scan(pieces, maximumValues: count - 1)
      guard case .tooManyValues = verdict else {
        Issue.record("\(verdict)")
        continue
      }
    }
  }

  @Test("a text with too many values can be scanned on to its end, and the next one is counted from the start")
  func valuesContinue() {
    var scanner = JSONTextScanner(maximumDepth: 8, maximumValues: 2)
    let text = Array("[1,2,[3,{}]][4]".utf8)
    text.withUnsafeBytes { bytes in
      #expect(scanner.scan(bytes, from: 0) == .tooManyValues(at: 3))
      #expect(scanner.scan(bytes, from: 3) == .complete(end: 12))
      scanner.reset()
      #expect(scanner.scan(bytes, from: 12) == .complete(end: 15))
    }
  }

  static func scan(_ bytes: [UInt8], maximumDepth: Int = 128) -> JSONTextScanner.Verdict {
    scan([bytes], maximumDepth: maximumDepth)
  }

  /// Offsets of the verdict count from the first piece's start.
  static func scan(
    _ pieces: [[UInt8]], maximumDepth: Int = 128, maximumValues: Int = .max
  ) -> JSONTextScanner.Verdict {
    var scanner = JSONTextScanner(maximumDepth: maximumDepth, maximumValues: maximumValues)
    var before = 0
    for piece in pieces {
      switch piece.withUnsafeBytes({ scanner.scan($0, from: 0) }) {
      case .incomplete: before += piece.count
      case .complete(let end): return .complete(end: before + end)
      case .malformed(let at, let defect): return .malformed(at: before + at, defect)
      case .tooManyValues(let at): return .tooManyValues(at: before + at)
      }
    }
    return .incomplete
  }
}

extension String {
  fileprivate var trimmed: String { String(drop { $0 == "\t" }) }
}
