import PosternJSON
import Testing

@testable import PosternJSONRPC

@Suite("The outline of a large message")
struct EnvelopeOutlineTests {
  private static func outline(_ text: String, batch: Int = 2) -> EnvelopeOutline? {
    Array(text.utf8).withUnsafeBytes { EnvelopeOutline($0, limits: ConversationLimits(batch: batch)) }
  }

  @Test("ids and methods are read, escapes in names too, and no params")
  func reads() {
    let one = Self.outline(#"{"jsonrpc":"2.0","\u0069d":"a\u00e9","params":{"x":1,"x":2},"method":"m\u0031"}"#)
    #expect(one?.methods == ["m1"])
    #expect(one?.json == ["jsonrpc": "2.0", "id": "aé", "params": nil, "method": "m1"])
    let two = Self.outline(#"[{"method":"a","params":[1]},{"method":"b","id":1}]"#)
    #expect(two?.methods == ["a", "b"])
    #expect(two?.json.arrayValue?.count == 2)
  }

  @Test(
    "what it does not understand is left to the parser",
    arguments: [
      "1", "[]", "{}", "[1]", #"{"id":1}"#, #"{"method":1}"#, #"{"method":"a","method":"b"}"#,
      #"{"method":"a","m\u0065thod":"b"}"#,
      #"{"method":"$/cancelRequest"}"#, #"[{"method":"a"},{"result":1}]"#,
      #"[{"method":"a"},{"method":"a"},{"method":"a"}]"#,
      #"{"method":"a","id":01}"#, #"{"method":"a""#, #"{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"method":"a"}"#,
    ])
  func leaves(text: String) { #expect(Self.outline(text)?.methods == nil) }
}
