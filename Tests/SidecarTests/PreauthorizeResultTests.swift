import AuthEngine
import PosternJSON
import PosternProtocol
import PosternSupport
import Testing

@testable import Entitlements
@testable import PosternObservability
@testable import Sidecar

@Suite("preauthorize: the answer on the wire")
struct PreauthorizeResultTests {
  private static let status = AuthEngine.Status(
    status: 403, code: "a\"b", action: "none", message: "\u{1}\\\n\u{e9}", details: "d\0", helpURL: "https://h.test/",
    trace: "t")

  /// Everything that a response can hold.
  static let responses: [PreauthorizeResponse] = {
    let instant = Timestamp(secondsSinceEpoch: 1_800_000_000)
    let long = String(repeating: "\u{e9}\"", count: 5000)
    let decisions = [
      AuthEngine.Decision(id: "a", error: nil, source: .local, age: .milliseconds(1234), expiresAt: instant),
      AuthEngine.Decision(id: "<rss \"x\">\u{0}", error: status, source: .backend, age: .zero, expiresAt: instant),
      AuthEngine.Decision(id: long, error: nil, source: .degradation, age: .seconds(-1), expiresAt: nil),
      AuthEngine.Decision(
        id: "", error: .networkError("x"), source: .backend, age: .seconds(1 << 40), expiresAt: instant + .seconds(1)),
    ]
    return [
      PreauthorizeResponse(outcome: .response, decisions: decisions),
      PreauthorizeResponse(outcome: .failure, status: .sessionExpired),
      PreauthorizeResponse(outcome: .response, status: status, unhonoredFeatures: [.localCache, .remoteCache]),
      PreauthorizeResponse(outcome: .response, decisions: [decisions[0]], unhonoredFeatures: [.remoteCache]),
    ]
  }()

  @Test("the text is the documented result, whatever its content", arguments: responses)
  func documented(response: PreauthorizeResponse) throws {
    let bytes = Written(Preauthorize.Result(response)).text.bytes
    #expect(!bytes.contains(UInt8(ascii: "\n")))
    let json = try JSONParser(allowsNUL: true).parse(bytes)
    #expect(JSONWriter().write(json) == bytes, "to the byte what jansson writes")
    // The reading of strings that hold U+0000 is not the point here.
    let readable = try JSONParser().parse(
      String(decoding: bytes, as: UTF8.self).replacing(#"\u0000"#, with: "?"))
    let result = try JSONValueDecoder().decode(Preauthorize.Result.self, from: readable)
    #expect(try JSONValueEncoder().encode(result) == readable)
    #expect(result.outcome.rawValue == response.outcome.rawValue)
    #expect(result.unhonoredFeatures.count == response.unhonoredFeatures.count)
    #expect(json["status"]?["code"]?.stringValue == response.status?.code)
    let decisions = try #require(json["decisions"]?.arrayValue)
    #expect(decisions.count == response.decisions.count)
    for (written, decision) in zip(decisions, response.decisions) {
      #expect(written["id"]?.stringValue.map { Array($0.utf8) } == Array(decision.id.utf8))
      #expect(written["authorized"] == .bool(decision.isAuthorized))
      #expect(written["ageMs"]?.integerValue == decision.age.wholeMilliseconds)
      #expect(written["expiresAt"]?.stringValue == decision.expiresAt?.rfc3339)
      #expect(written["error"]?["message"]?.stringValue == decision.error?.message)
      #expect(written["error"]?["details"]?.stringValue == decision.error?.details)
    }
  }
}
