import JOSE
import PosternJSON
import Testing

@Suite("Tokens: rules of the header")
struct HeaderRuleTests {
  @Test(
    "Every crit is rejected: malformed, of registered or absent names, with duplicates, or of unsupported extensions",
    arguments: [
      #""crit":[]"#, #""crit":"exp""#, #""crit":null"#, #""crit":{}"#, #""crit":[1],"1":1"#, #""crit":["alg"]"#,
      #""crit":["exp"]"#, #""crit":["exp"],"exp":1"#, #""crit":["exp","exp"],"exp":1"#,
      #""crit":["b64"],"b64":false"#, #""crit":["b64"],"b64":true"#, #""crit":["http://x"],"http://x":true"#,
      #""crit":[""],"":1"#,
    ])
  func critical(_ members: String) {
    expectError(.unsupportedCrit) { try CompactJWS(compact(#"{"alg":"HS256",\#(members)}"#, "{}")) }
    expectError(.unsupportedCrit) {
      let parts = compact(#"{"alg":"dir","enc":"A128GCM",\#(members)}"#, "", [])
      return try CompactJWE(parts + "..")
    }
  }

  @Test("b64 false without crit is rejected, so that no payload is read as base64url that is not (RFC 7797)")
  func unencodedPayload() {
    for value in ["false", "0", "null", #""false""#] {
      expectError(.unsupportedCrit) { try CompactJWS(compact(#"{"alg":"HS256","b64":\#(value)}"#, "{}")) }
    }
    #expect(throws: Never.self) { try CompactJWS(compact(#"{"alg":"HS256","b64":true}"#, "{}")) }
  }

  @Test("typ is compared as a media type: case and application/ do not matter, anything else does")
  func type() throws {
    func header(_ type: JSONValue?) throws -> JOSEHeader {
      var parameters: JSONObject = ["alg": "RS256"]
      parameters["typ"] = type
      return try JOSEHeader(parameters: parameters)
    }
    for type: JSONValue? in [nil, "JWT", "jwt", "application/jwt", "APPLICATION/JWT"] {
      #expect(throws: Never.self) { try header(type).requireType(["JWT"], mayBeAbsent: true) }
    }
    let others: [JSONValue] = [
      "at+jwt", "logout+jwt", "dpop+jwt", "secevent+jwt", "token-introspection+jwt", "", "JWT ",
      "application/application/jwt",
      "application/jwt/x", "text/jwt", "\u{212A}",
    ]
    for type in others {
      expectError(.wrongTokenType, "\(type)") { try header(type).requireType(["JWT"], mayBeAbsent: true) }
    }
    expectError(.wrongTokenType) { try header(nil).requireType(["at+jwt"], mayBeAbsent: false) }
    #expect(throws: Never.self) { try header("application/at+jwt").requireType(["at+jwt"], mayBeAbsent: false) }
  }

  @Test("cty JWT, in any spelling of that media type, means that the content is a token")
  func nested() throws {
    for (type, expected) in [("JWT", true), ("jwt", true), ("application/JWT", true), ("json", false)] {
      let header = try JOSEHeader(parameters: ["alg": "dir", "cty": .string(type)])
      #expect(header.isNested == expected)
    }
    #expect(try !JOSEHeader(parameters: ["alg": "dir"]).isNested)
  }
}
