import PosternJSON
import Testing

@Suite("Parser: one strict set of rules over jansson")
struct JSONParserTests {
  @Test(
    "rejects what JSON or the parser's rules do not permit, with an error kind for each",
    arguments: [
      ("", JSONParseError.Kind.truncated), ("{", .truncated), (#"{"a":"#, .truncated), ("{]", .syntax),
      ("{} {}", .syntax), ("nul", .syntax), ("1", .syntax), (#""text""#, .syntax), (#"{"a":1,}"#, .syntax),
      (#"{"a":01}"#, .syntax), (#"{"a":1,"a":2}"#, .duplicateMember), (#"{"a":1,"\u0061":2}"#, .duplicateMember),
      (#"{"a":{"b":1,"b":1}}"#, .duplicateMember), (#"{"a":"\u0000"}"#, .nul), (#"{"\u0000":1}"#, .nul),
      (#"{"a":9223372036854775808}"#, .numberOutOfRange), (#"{"a":1e999}"#, .numberOutOfRange),
      (#"{"a":"\ud800"}"#, .syntax), ("{\"a\":\"\u{1}\"}", .syntax), ("\u{FEFF}{}", .syntax), ("[[[[[", .tooDeep),
      (#"{"a":[[[1]]]}"#, .tooDeep),
    ])
  func rejects(text: String, kind: JSONParseError.Kind) {
    let error = #expect(throws: JSONParseError.self) { try JSONParser(maxDepth: 3).parse(text) }
    #expect(error?.kind == kind)
  }

  @Test(
    "rejects a NUL at every position, also behind a number or a literal, where jansson drops it",
    arguments: [
      "123\u{0}", "1.5\u{0}", "true\u{0}", "[1\u{0}]", "{\"a\":1\u{0}}", "[null\u{0},1]", "{}\u{0}", "\u{0}",
      "[\"\u{0}\"]",
    ])
  func rejectsRawNUL(text: String) {
    let error = #expect(throws: JSONParseError.self) {
      try JSONParser(allowsNUL: true, allowsScalar: true).parse(text)
    }
    #expect(error?.kind == .syntax)
    #expect(error?.offset == text.utf8.firstIndex(of: 0).map { text.utf8.distance(from: text.utf8.startIndex, to: $0) })
  }

  @Test("rejects bytes that are no UTF-8 in a string")
  func rejectsInvalidUTF8() {
    let error = #expect(throws: JSONParseError.self) {
      try JSONParser().parse([0x7B, 0x22, 0xFF, 0x22, 0x3A, 0x31, 0x7D])
    }
    #expect(error?.kind == .encoding)
  }

  @Test("counts depth by brackets outside strings only, up to the limit and not beyond")
  func depth() throws {
    let parser = JSONParser(maxDepth: 4)
    #expect(throws: Never.self) { try parser.parse(#"[[[["[[[[[[ \" {{{"]]]]"#) }
    #expect(throws: JSONParseError.self) { try parser.parse("[[[[[]]]]]") }
    #expect(throws: Never.self) { try parser.parse(#"[[],[],[],[],{"a":{}},{},{},{}]"#) }
    #expect(throws: JSONParseError.self) { try parser.parse(#"[[],[],[{"a":[{}]}]]"#) }
  }

  @Test("takes nesting beyond jansson's own limit for too deep, never for a crash")
  func depthBeyondJansson() {
    let text = String(repeating: "[", count: 100_000)
    let error = #expect(throws: JSONParseError.self) { try JSONParser(maxDepth: 200_000).parse(text) }
    #expect(error?.kind == .tooDeep)
  }

  @Test("rejects a text over the size limit before it is read")
  func size() {
    let error = #expect(throws: JSONParseError.self) { try JSONParser(maxBytes: 4).parse("[1,2]") }
    #expect(error?.kind == .tooLarge)
  }

  @Test("keeps U+0000 on request only")
  func nul() throws {
    let value = try JSONParser(allowsNUL: true).parse(#"{"a":"x\u0000y"}"#)
    #expect(value["a"] == "x\u{0}y")
    #expect(value.containsNUL)
  }

  @Test("an error never quotes the text")
  func errorsQuoteNothing() {
    let error = #expect(throws: JSONParseError.self) { try JSONParser().parse(#"{"token": s3cr3t}"#) }
    #expect(error.map { "\($0)".contains("s3cr3t") } == false)
  }
}
