import Testing

@testable import HTTPMessages

@Suite("Rules for field names and values, byte by byte")
struct FieldRuleTests {
  @Test("a token has letters, digits and fifteen other characters")
  func tokenCharacters() {
    let others = "!#$%&'*+-.^_`|~".utf8
    for byte in UInt8.min...UInt8.max {
      let isAllowed = ASCII.isLetter(byte) || ASCII.isDigit(byte) || others.contains(byte)
      #expect(ASCII.isTokenCharacter(byte) == isAllowed, "\(byte)")
    }
  }

  @Test("a value has no control character but the tab", arguments: [0, 8, 9, 10, 13, 31, 32, 126, 127, 128])
  func values(scalar: UInt32) throws {
    let character = try #require(Unicode.Scalar(scalar))
    let isAllowed = scalar == 9 || scalar >= 32 && scalar != 127
    #expect(HTTPFieldRules.isValue("a\(Character(character))b") == isAllowed)
  }

  @Test("setting a field replaces each line of its name, in any case, and adds the new line at the end")
  func setting() {
    var fields: HTTPFields = ["A": "1", "b": "2", "a": "3"]
    fields["A"] = "4"
    #expect(fields == ["b": "2", "A": "4"])
    fields["C"] = nil
    fields["B"] = nil
    #expect(fields == ["A": "4"])
  }
}
