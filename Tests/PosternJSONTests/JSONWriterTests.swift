import PosternJSON
import Testing

@Suite("Writer: what was read is written back as it was")
struct JSONWriterTests {
  @Test(
    "a round trip keeps text, order and numbers",
    arguments: [
      #"{"z":1,"a":2,"m":[1,2.5,-0.1,1e300,true,false,null,"é😀\u0001\"\\\/"]}"#, #"{"a":0.1}"#, #"{"a":1e-7}"#,
      #"{"a":123456789012345680.0}"#, #"{"a":5e-324}"#, #"[9223372036854775807,-9223372036854775808]"#, "[]", "{}",
      #"{"":{"":[]}}"#, #"["\u007f\u0080\u2028"]"#,
    ])
  func roundTrip(text: String) throws {
    let value = try JSONParser().parse(text)
    let written = JSONWriter().write(value)
    #expect(try JSONParser().parse(written) == value)
    #expect(!written.contains(UInt8(ascii: "\n")))
    #expect(JSONWriter().write(try JSONParser().parse(written)) == written)
  }

  @Test("member order survives, so that another server's object is passed on as received")
  func order() throws {
    let text = #"{"authId":"x","callbacks":[],"stage":"s","b":1,"a":2}"#
    #expect(JSONWriter().string(try JSONParser().parse(text)) == text)
  }

  @Test("texts around the scratch buffer's size are written whole", arguments: [4090, 4094, 4095, 4096, 4097, 70_000])
  func sizes(count: Int) throws {
    let value = JSONValue.array([.string(String(repeating: "x", count: count))])
    #expect(JSONWriter().write(value).count == count + 4)
    #expect(try JSONParser().parse(JSONWriter().write(value)) == value)
  }

  @Test("a number JSON cannot express becomes null, never invalid text")
  func nonFinite() {
    #expect(JSONWriter().string(.array([.real(.infinity), .real(.nan)])) == "[null,null]")
  }
}

@Suite("Writer: long strings are put in by our own escaping")
struct LongStringTests {
  @Test("every byte that needs an escape is escaped, at every offset of a word", arguments: 0..<9)
  func offsets(offset: Int) throws {
    let specials =
      (0..<0x20).map { Character(Unicode.Scalar(UInt8($0))) } + ["\"", "\\", "/", "\u{7F}", "é", "😀", "\u{2028}"]
    for special in specials {
      var text = String(repeating: "x", count: 1024 + offset)
      text.append(special)
      text += String(repeating: "y", count: 20)
      let written = JSONWriter().write(.array([.string(text)]))
      #expect(try JSONParser(allowsNUL: true).parse(written) == .array([.string(text)]))
    }
  }

  @Test(
    "the text around two escapes is neither lost nor doubled, at every position", arguments: ["\"", "\n", "\u{1}"])
  func pairs(special: Character) {
    let escaped = special == "\"" ? "\\\"" : special == "\n" ? "\\n" : "\\u0001"
    for length in [1024, 1029, 1056] {
      for first in 0..<40 {
        for second in first + 1..<41 {
          var characters = (0..<length).map { Character(Unicode.Scalar(UInt8(0x61 + $0 % 26))) }
          characters[first] = special
          characters[characters.count - second] = special
          let expected = characters.map { $0 == special ? escaped : String($0) }.joined()
          #expect(JSONWriter().string(.string(String(characters))) == "\"\(expected)\"")
        }
      }
    }
  }

  @Test(
    "strings around the threshold and the chunk size come back whole",
    arguments: [1023, 1024, 1025, 4095, 4096, 4097, 8192, 100_001])
  func sizes(count: Int) throws {
    let value: JSONValue = [
      "a": .string(String(repeating: "\"", count: count)), "b": "short",
      "c": .string(String(repeating: "é", count: count)),
    ]
    #expect(try JSONParser().parse(JSONWriter().write(value)) == value)
  }

  @Test("a string that looks like a mark is only a string")
  func marks() throws {
    let value: JSONValue = [.string("splice-0-0"), .string(String(repeating: "z", count: 2000)), "splice-"]
    #expect(try JSONParser().parse(JSONWriter().write(value)) == value)
  }
}
