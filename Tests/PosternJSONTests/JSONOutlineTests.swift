import PosternJSON
import Testing

@Suite("Positions of members and elements")
struct JSONOutlineTests {
  private static func members(_ text: String, atMost limit: Int = 8) -> [String]? {
    Array(text.utf8).withUnsafeBytes { bytes in
      JSONOutline.members(of: bytes, atMost: limit)?.map { member in
        String(decoding: bytes[member.name], as: UTF8.self) + "=" + String(decoding: bytes[member.value], as: UTF8.self)
      }
    }
  }

  private static func elements(_ text: String, atMost limit: Int = 8) -> [String]? {
    Array(text.utf8).withUnsafeBytes { bytes in
      JSONOutline.elements(of: bytes, atMost: limit)?.map { String(decoding: bytes[$0], as: UTF8.self) }
    }
  }

  @Test(
    "members are found whatever is in their values",
    arguments: [
      ("{}", []), (" { } ", []), (#"{"a":1}"#, ["a=1"]), (#"{ "a" : 1 , "b":"x" }"#, ["a=1 ", #"b="x" "#]),
      (#"{"a":"},{","b":[1,{"c":"]"}],"d":{}}"#, [#"a="},{""#, #"b=[1,{"c":"]"}]"#, "d={}"]),
      (#"{"a":"\"","b\"":"\\","c":"\\\""}"#, [#"a="\"""#, #"b\"="\\""#, #"c="\\\"""#]),
    ] as [(String, [String])])
  func members(text: String, expected: [String]) {
    #expect(Self.members(text) == expected)
    #expect(Self.elements(text) == nil)
  }

  @Test(
    "elements are found whatever is in them",
    arguments: [
      ("[]", []), ("\n[ ]", []), ("[1,[2,3],{\"a\":[]},\",\"]", ["1", "[2,3]", "{\"a\":[]}", "\",\""]),
    ] as [(String, [String])])
  func elements(text: String, expected: [String]) {
    #expect(Self.elements(text) == expected)
    #expect(Self.members(text) == nil)
  }

  @Test(
    "a text of another kind, a truncated one and one with too many members give nil, never a trap",
    arguments: [
      "", " ", "1", "\"a\"", "{", "[", "{\"", "{\"a", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,", "{1:2}", "[1",
      "[1,", "[\"\\\"]",
      "{\"a\":}", "{\"a\":,}", "[,]", "{\"a\":[}", "[1,2,3]", "{\"a\":1,\"b\":2,\"c\":3}",
    ])
  func nothing(text: String) {
    #expect(Self.members(text, atMost: 2) == nil)
    #expect(Self.elements(text, atMost: 2) == nil)
  }
}
