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
}
