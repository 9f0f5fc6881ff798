import CPosternJansson
import PosternTestSupport
import Testing

@testable import PosternJSON

/// The writer, compared with jansson's own byte by byte.
@Suite("Writer: the same bytes as jansson")
struct JanssonComparisonTests {
  /// `text`, parsed and written by jansson alone.
  private func janssons(_ text: String, digits: Int? = nil, pretty: Bool = false) throws -> String {
    let flags = Int(JSON_DECODE_ANY) | Int(JSON_ALLOW_NUL)
    let json = try #require(json_loadb(text, text.utf8.count, flags, nil))
    defer { json_decref(json) }
    // JSON_REAL_PRECISION and JSON_INDENT are macros.
    let layout = pretty ? 2 : Int(JSON_COMPACT)
    let written = try #require(json_dumps(json, Int(JSON_ENCODE_ANY) | layout | (digits ?? 0) << 11))
    defer { written.deallocate() }
    return String(cString: written)
  }

  private func ours(_ text: String, pretty: Bool = false) throws -> String {
    JSONWriter(pretty: pretty).string(try JSONParser(allowsNUL: true, allowsScalar: true).parse(text))
  }

  @Test("a value is written in other bytes, compact or for people", arguments: [false, true])
  func values(pretty: Bool) throws {
    let texts = [
      "null", "true", "false", "0", "-1", "9223372036854775807", "-9223372036854775808", #""""#, "[]", "{}", "[[]]",
      "[{}]", #"{"a":[]}"#, #"{"a":{"b":[1,{"c":null},[true,false]]},"d":"e"}"#,
      #"{"é😀":"\u2028","a\"b\\c\n":"\u001f"}"#,
    ]
    for text in texts { #expect(try ours(text, pretty: pretty) == janssons(text, pretty: pretty)) }
  }

  @Test("a character is escaped otherwise, alone and amid others, in a name and in a value")
  func characters() throws {
    for scalar in (0x01...0x17F).compactMap(Unicode.Scalar.init) {
      for padding in ["", "x", "1234567", String(repeating: "y", count: 40)] {
        let value = JSONValue.object([padding + String(scalar) + padding: .string(padding + String(scalar))])
        let text = JSONWriter().string(value)
        #expect(try text == janssons(text))
      }
    }
    #expect(try ours(#"["\u0000"]"#) == janssons(#"["\u0000"]"#))
  }

  @Test("a random text is escaped otherwise, however many escapes it has, and wherever the buffer has to grow")
  func randomTexts() throws {
    var generator = SeededGenerator(seed: 5)
    let characters: [Character] = ["\"", "\\", "\n", "\u{1}", "\u{1F}", "é", "😀", "\u{7F}"]
    for round in 0..<300 {
      // From a text without escapes to one of nothing else.
      let share = round % 11
      let text = String(
        (0..<Int.random(in: 0..<3000, using: &generator)).map { _ in
          Int.random(in: 0..<10, using: &generator) < share
            ? characters.randomElement(using: &generator) ?? "x" : "y"
        })
      let written = JSONWriter().string([.string(text), .string(text)])
      #expect(try written == janssons(written))
      let composer = JSONComposer(capacity: 0)
      composer.value([.string(text), .string(text)])
      #expect(composer.finished().bytes == Array(written.utf8))
    }
  }

  @Test("a real number has other digits, exponent or point")
  func reals() throws {
    var generator = SeededGenerator(seed: 7)
    let random = (0..<2000).map { _ in Double(bitPattern: generator.next()) }.filter(\.isFinite)
    let known = [
      0.1, 1, -0, 100_000, 1e15, 1e16, 1e17, 1e21, 1e22, 1e-4, 1e-5, 1e-7, .leastNonzeroMagnitude,
      .greatestFiniteMagnitude,
    ]
    for number in known + random {
      let digits = number.description.utf8.prefix { $0 != UInt8(ascii: "e") }.filter { (0x30...0x39).contains($0) }
        .drop { $0 == 0x30 }.count
      let written = JSONWriter().string(.real(number))
      #expect(try written == janssons(number.description, digits: max(1, digits)))
      #expect(try JSONParser(allowsScalar: true).parse(written) == .real(number))
    }
  }
}
