import PosternJSON
import Testing

@Suite("Texts put together by hand")
struct JSONComposerTests {
  static let strings = [
    "", "a", "\u{0}", "\"\\\n\r\t\u{8}\u{C}\u{1}\u{1F}\u{7F}/", "\u{e9}\u{1F600}", String(repeating: "\"", count: 5000),
    String(repeating: "x", count: 4095) + "\u{1F600}\u{2}", "splice-",
  ]

  @Test("a string is read back as it was, whatever is in it", arguments: strings)
  func string(text: String) throws {
    let composer = JSONComposer()
    composer.literal("[")
    composer.string(text)
    composer.literal("]")
    let bytes = composer.finished().bytes
    let value = try JSONParser(allowsNUL: true).parse(bytes)
    #expect(JSONWriter().write(value) == bytes, "to the byte what jansson writes")
    #expect(value.arrayValue?.first?.stringValue.map { Array($0.utf8) } == Array(text.utf8))
  }

  @Test("an integer is read back as it was", arguments: [0, 7, -7, 10, 1_000_000, Int64.max, Int64.min, -10, 99, 100])
  func integer(number: Int64) throws {
    let composer = JSONComposer()
    composer.integer(number)
    #expect(String(decoding: composer.finished().bytes, as: UTF8.self) == String(number))
  }

  @Test("bytes become a string if they are UTF-8, and nothing otherwise", arguments: 0..<40)
  func bytes(length: Int) throws {
    let ascii = (0..<length).map { UInt8(0x20 + $0 % 0x5F) }
    for position in 0...length {
      let parts: [([UInt8], Bool)] = [
        ([], true), (Array("é".utf8), true), ([0xC3], false), ([0xA9], false), ([0xED, 0xA0, 0x80], false), ([0], true),
      ]
      for (part, isText) in parts {
        let bytes = ascii[..<position] + part + ascii[position...]
        let composer = JSONComposer(capacity: 0)
        composer.literal("{")
        #expect(composer.string(Array(bytes), behind: #""a":"#) == isText)
        composer.literal("}")
        let expected: JSONValue = isText ? ["a": .string(String(decoding: bytes, as: UTF8.self))] : [:]
        #expect(composer.finished().bytes == JSONWriter().write(expected))
      }
    }
  }

  @Test(
    "a name in lower case has its ASCII letters alone changed",
    arguments: strings + ["X-\"É\u{1F}K\u{212A}", "ABC"])
  func lowercased(text: String) {
    let composer = JSONComposer()
    composer.lowercasedString(text)
    let expected = String(decoding: text.utf8.map { $0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0 }, as: UTF8.self)
    #expect(composer.finished().bytes == JSONWriter().write(.string(expected)))
  }
}
