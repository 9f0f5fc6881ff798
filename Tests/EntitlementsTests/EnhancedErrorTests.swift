import AuthEngine
import PosternJSON
import Testing

@testable import Entitlements

@Suite("Enhanced errors")
struct EnhancedErrorTests {
  static let shapes: [(String, String?)] = [
    (#"{"code":"c","status":403,"action":"none"}"#, "c"), (#"{"error":{"code":"c"}}"#, "c"),
    (#"{"errors":[{"code":"c"},{"code":"d"}]}"#, "c"), (#"{"error":"c"}"#, nil), (#"{"code":7}"#, nil),
    (#"{"errors":[]}"#, nil), (#"{"code":""}"#, nil), (#"[{"code":"c"}]"#, nil),
  ]

  @Test("are found bare and wrapped, and nothing else is taken for one", arguments: shapes)
  func shape(text: String, code: String?) throws {
    #expect(EnhancedError.read(in: try JSONParser().parse(text), status: 400)?.code == code)
  }

  @Test("of unknown codes and actions pass through; of known ones what is missing is filled in")
  func passing() throws {
    let odd = EnhancedError.read(
      try JSONParser().parse(#"{"code":"new_code","action":"dance","status":418,"trace":"t","helpUrl":"u"}"#),
      status: 400)
    #expect(
      odd
        == Status(status: 418, code: "new_code", action: "dance", message: "", helpURL: "u", trace: "t"))
    let known = EnhancedError.read(try JSONParser().parse(#"{"code":"authenticated_profile_expired"}"#), status: 200)
    #expect(known?.status == 403 && known?.action == "authentication")
    for status in ["0", "-1", "\"x\"", "null"] {
      let read = EnhancedError.read(try JSONParser().parse(#"{"code":"c","status":\#(status)}"#), status: 200)
      #expect(read?.isLocal == false)
    }
  }

  @Test("that mean there is no decision are faults, all others denies")
  func kinds() {
    for code in EnhancedErrorTable.codes {
      let row = EnhancedErrorTable[code]
      guard let row else { continue }
      let verdict = EnhancedError.verdict(Status(status: row.status, code: code, action: row.action, message: ""))
      let isFault = row.action.hasPrefix("retry") || row.status >= 500
      #expect(Status(status: row.status, code: code, action: row.action, message: "").isFault == isFault, "\(code)")
      #expect(verdict.isDecided == !isFault, "\(code)")
    }
    #expect(EnhancedErrorTable.codes.count > 90)
  }

  @Test("that are long are cut between characters")
  func length() {
    let text = String(repeating: "\u{1F600}", count: 5000)
    let cut = EnhancedError.shortened("x" + text)
    #expect(cut.utf8.count <= EnhancedError.maxTextBytes && cut.utf8.count > EnhancedError.maxTextBytes - 5)
    #expect(("x" + text).hasPrefix(cut))
  }
}
