import PosternSupport
import Testing

@Suite("base64 and base64url")
struct Base64Tests {
  @Test("The examples of RFC 4648 section 10 come out, in both directions")
  func published() {
    let examples = [
      ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
      ("foobar", "Zm9vYmFy"),
    ]
    for (plain, text) in examples {
      #expect(Base64.string(Array(plain.utf8)) == text)
      #expect(Base64.decode(text) == Array(plain.utf8))
      let unpadded = String(text.prefix { $0 != "=" })
      #expect(Base64URL.string(Array(plain.utf8)) == unpadded)
      #expect(Base64URL.decode(unpadded) == Array(plain.utf8))
    }
  }

  @Test("Every length up to 64 round-trips, with every byte value")
  func roundTrip() {
    for count in 0..<64 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 37 + count) }
      #expect(Base64.decode(Base64.encode(bytes)) == bytes)
      #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
      #expect(Base64URL.encode(bytes.span.bytes) == Base64URL.encode(bytes))
      #expect(Array(Base64.string(bytes).utf8) == Base64.encode(bytes))
      #expect(Array(Base64URL.string(bytes).utf8) == Base64URL.encode(bytes))
    }
    let all = (0...255).map { UInt8($0) }
    #expect(Base64.decode(Base64.encode(all)) == all)
    // Every character of the alphabet in each of the four positions.
    for (value, symbol) in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".enumerated() {
      for index in 0..<4 {
        let word = UInt32(value) << UInt32(18 - 6 * index)
        let bytes = [UInt8(word >> 16), UInt8(word >> 8 & 0xff), UInt8(word & 0xff)]
        var expected: [Character] = ["A", "A", "A", "A"]
        expected[index] = symbol
        #expect(Base64.string(bytes) == String(expected))
      }
    }
    #expect(Base64URL.decode(Base64URL.encode(all).span.bytes) == all)
  }

  @Test("The two alphabets differ in their last two characters and take no other's")
  func alphabets() {
    #expect(Base64.string([0xfb, 0xff, 0xbf]) == "+/+/")
    #expect(Base64URL.string([0xfb, 0xff, 0xbf]) == "-_-_")
    #expect(Base64.decode("-_-_") == nil)
    #expect(Base64URL.decode("+/+/") == nil)
  }

  @Test(
    "Padding must be there, exact and at the end in base64",
    arguments: [
      "Zg", "Zg=", "Zg===", "Zm8", "Zm8==", "=Zg=", "Z===", "====", "=", "==", "Zm9v=", "Zm9v====", "Zg==Zg==",
      "!!!!", "Zg==\n", " Zg==", "_-8=", "Zh==",
    ])
  func padding(_ text: String) { #expect(Base64.decode(text) == nil) }

  @Test("base64url takes no padding, no single last character", arguments: ["Zg==", "Zm8=", "=", "Z", "Zm9vY"])
  func noPadding(_ text: String) { #expect(Base64URL.decode(text) == nil) }

  @Test("Unused bits must be zero: one byte string has one text", arguments: ["Zh", "Zv", "Z_", "Zm9", "Zm-"])
  func unusedBits(_ text: String) {
    #expect(Base64URL.decode(text) == nil)
    let padded = text.map { $0 == "_" ? "/" : ($0 == "-" ? "+" : String($0)) }.joined() + (text.count == 2 ? "==" : "=")
    #expect(Base64.decode(padded) == nil)
  }

  @Test("White space, controls and bytes beyond ASCII are rejected at every position")
  func foreignBytes() {
    let valid = Array("Zm9v".utf8)
    for byte in (0...255).map({ UInt8($0) }) where !Base64URL.encode((0...255).map { UInt8($0) }).contains(byte) {
      for position in 0...4 {
        var text = valid
        text.insert(byte, at: position)
        #expect(Base64URL.decode(text) == nil)
        if position < 4 {
          text = valid
          text[position] = byte
          #expect(Base64URL.decode(text) == nil)
        }
      }
    }
  }
}
