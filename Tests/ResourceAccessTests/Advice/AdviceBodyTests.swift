import AuthEngine
import HTTPMessages
import Testing

/// Advice in JSON bodies, and XML as it goes to the access manager.
@Suite("Advice in bodies", .bothWays)
struct AdviceBodyTests {
  private typealias V = AdviceVectors

  private static func found(
    _ text: String, _ status: Int, _ scope: AdviceRecognizer.Scope = .everyAnswer
  ) -> [String] {
    AdviceRecognizer(scope: scope).finding(in: V.body(text, status: status))?.advices.map(\.value) ?? []
  }

  @Test("A policy decision's advices are missed because of the text around them or before them")
  func rows() {
    let row = """
      {"resource":"https://x","actions":{},"attributes":{},"advices":{"TransactionConditionAdvice":["t"],"Unknown":["u"]},"ttl":0}
      """
    for text in [row, "[\(row)]", " \n\t[{\"resource\":\"a\",\"advices\":{}},7,\(row),\(row)]"] {
      for status in [200, 401, 403, 500] { #expect(Self.found(text, status) == ["t", "u"]) }
      #expect(Self.found(text, 403, .denials) == ["t", "u"] && Self.found(text, 401, .denials) == ["t", "u"])
      for status in [200, 302, 404, 500] { #expect(Self.found(text, status, .denials) == []) }
    }
  }

  @Test("A map that is the whole body counts outside of 401 and 403, or members of an error count as advice")
  func bareMaps() {
    let map = "{\"code\":403,\"errors\":[\"denied\"],\"AuthenticateToServiceConditionAdvice\":[\"/sdk:Confirm\"]}"
    for scope in [AdviceRecognizer.Scope.denials, .everyAnswer] {
      #expect(Self.found(map, 401, scope) == ["/sdk:Confirm"] && Self.found("[\(map)]", 403, scope) == ["/sdk:Confirm"])
      for status in [200, 400, 404, 500] { #expect(Self.found(map, status, scope) == []) }
      #expect(Self.found("{\"code\":403,\"errors\":[\"denied\"]}", 403, scope) == [])
    }
  }

  @Test(
    "A body that holds no advice gives some, or traps",
    arguments: [
      "", " ", "null", "{", "[", "{}", "[]", "[[]]", "{\"advices\":null}", "{\"advices\":{}}", "{\"advices\":[\"A\"]}",
      "{\"advices\":\"A\"}", "{\"advices\":{\"A\":\"x\"}}", "{\"advices\":{\"A\":[null,true,{},[],\"\",\" \"]}}",
      "{\"advices\":{\"A\":[\"\\u0001\"]}}", "{\"advices\":{\"\":[\"x\"]}}", "<html>advices</html>",
      "{\"advices\":{\"A\":[\"x\"]},\"advices\":{}}", "{\"a\":{\"advices\":{\"A\":[\"x\"]}}}",
      "{\"advices\":{},\"TransactionConditionAdvice\":[\"t\"]}",
      String(repeating: "[", count: 100_000), "{\"advices\":{\"A\":[\"\(String(repeating: "x", count: 300_000))\"]}}",
    ])
  func others(_ text: String) { #expect(Self.found(text, 403) == []) }

  @Test("More advices are taken than anybody can satisfy")
  func bounds() {
    let values = (0..<100).map { "\"\($0)\"" }.joined(separator: ",")
    let map = (0..<100).map { "\"T\($0)\":[\(values)]" }.joined(separator: ",")
    #expect(Self.found("{\"advices\":{\(map)}}", 403) == (0..<16).map(String.init))
    let rows = (0..<100).map { _ in "{\"advices\":{\(map)}}" }
    #expect(Self.found("[\(rows.joined(separator: ","))]", 403).count <= 16)
  }

  @Test("The order of the sources is another one: header, redirect, body")
  func precedence() {
    var response = V.redirect(V.location(V.escaped(V.xml)), status: 302)
    response.body = Array("{\"advices\":{\"A\":[\"body\"]}}".utf8)
    #expect(AdviceRecognizer(scope: .everyAnswer).finding(in: response)?.source == .redirect)
    response.fields.append("WWW-Authenticate", "UMA ticket=\"header\"")
    #expect(AdviceRecognizer(scope: .everyAnswer).finding(in: response)?.source == .header)
    #expect(AdviceRecognizer().finding(in: response)?.source == .redirect)
    response.status = 403
    #expect(AdviceRecognizer().finding(in: response)?.source == .header)
    response.fields["WWW-Authenticate"] = "Bearer"
    #expect(AdviceRecognizer().finding(in: response)?.source == .body)
  }

  @Test("A value breaks out of the XML that goes to the access manager")
  func escaping() throws {
    let value = "x</Value><Value>y&\"'"
    let advice = PolicyAdvice(type: "A\"/><B", value: value)
    let xml = try #require(CompositeAdvice.xml([advice]))
    #expect(
      xml
        == "<Advices><AttributeValuePair><Attribute name=\"A&quot;/&gt;&lt;B\"/><Value>x&lt;/Value&gt;&lt;Value&gt;y&amp;&quot;&apos;</Value></AttributeValuePair></Advices>"
    )
    #expect(CompositeAdvice.advices(xml: Array(xml.utf8)) == [advice])
    #expect(CompositeAdvice.xml([PolicyAdvice(type: "A", value: "\u{1}")]) == nil)
  }

  @Test("A denial of the session itself is taken for something a user can satisfy")
  func kinds() {
    #expect(!PolicyAdvice(type: PolicyAdvice.Name.session, value: "deny").isCompositeAdvice)
    for name in [PolicyAdvice.Name.scheme, PolicyAdvice.Name.level] {
      #expect(
        PolicyAdvice(type: name, value: "1").isCompositeAdvice && PolicyAdvice(type: name, value: "1").txId == nil)
    }
  }
}
