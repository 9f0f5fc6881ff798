import PosternSupport
import Testing

/// Text of protocols by bytes: what a combining scalar would hide from `Character`, or canonical equivalence make
/// equal.
@Suite struct StringBytesTests {
  @Test("A separator is missed where a scalar before or behind it makes one character of both")
  func cuts() {
    for scalar in ["\u{600}", "\u{301}", "\u{200D}", "\u{1F3FB}", "\u{FE0F}"] {
      #expect("a\(scalar);b".split(atByte: ";") == ["a\(scalar)", "b"])
      #expect("a;\(scalar)b".split(atByte: ";").map { Array($0.utf8) } == [Array("a".utf8), Array("\(scalar)b".utf8)])
      #expect(Array("a=\(scalar)b".prefix(beforeBytes: "=", "?").utf8) == Array("a".utf8))
      #expect("x\(scalar)secret\(scalar)".containsBytes(of: "secret"))
      #expect("secret\(scalar)x".startsWithBytes(of: "secret") && "\(scalar)secret".endsWithBytes(of: "secret"))
    }
    #expect("a\r\n;b".split(atByte: "\n").count == 2)
    #expect("".split(atByte: ";", omittingEmptySubsequences: false) == [""])
    #expect("a=b=c".split(atByte: "=", maxSplits: 1) == ["a", "b=c"])
    #expect("a;b;"[...].split(atByte: ";", omittingEmptySubsequences: false) == ["a", "b", ""])
    #expect("abc".prefix(beforeBytes: ";") == "abc" && "abc"[...].prefix(beforeBytes: "b") == "a")
  }

  @Test("A separator that is only equivalent cuts")
  func equivalents() {
    #expect("a\u{37E}b".split(atByte: ";").count == 1)
    #expect(!"\u{212A}".hasSameASCIILetters(as: "K") && !"a\u{37E}".endsWithBytes(of: ";"))
    #expect(!"e\u{301}".startsWithBytes(of: "\u{E9}") && !"\u{E9}".containsBytes(of: "e"))
  }

  @Test("Case is folded beyond ASCII, or not within it")
  func letterCase() {
    #expect("COO\u{212A}IE".lowercasedASCII().utf8.elementsEqual("coo\u{212A}ie".utf8))
    #expect("po\u{17F}t\u{131}".uppercasedASCII().utf8.elementsEqual("PO\u{17F}T\u{131}".utf8))
    #expect("\u{130}[@`{".lowercasedASCII().utf8.elementsEqual("\u{130}[@`{".utf8))
    #expect("AZaz09-".lowercasedASCII() == "azaz09-" && "AZaz09-".uppercasedASCII() == "AZAZ09-")
    #expect("Bearer".hasSameASCIILetters(as: "bEARER"[...]) && !"Bearer".hasSameASCIILetters(as: "Bearer "))
  }

  @Test(
    "A piece is found where there is none, or missed at an end",
    arguments: [("abcabd", "abd"), ("aab", "ab"), ("a", "a"), ("", ""), ("x", "")])
  func found(row: (String, String)) {
    #expect(row.0.containsBytes(of: row.1))
  }

  @Test("A piece is found where there is none", arguments: [("abcab", "abd"), ("ab", "abc"), ("", "a"), ("ba", "ab")])
  func missing(row: (String, String)) {
    #expect(!row.0.containsBytes(of: row.1))
  }
}
