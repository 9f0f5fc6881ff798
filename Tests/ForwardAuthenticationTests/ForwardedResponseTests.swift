import HTTPMessages
import PosternConfiguration
import PosternJSON
import Testing

@testable import ForwardAuthentication

/// The response to a front. Fronts let every 2xx pass, so 200 is for nothing but an accepted request.
@Suite struct ForwardedResponseTests {
  private static let api: ProtectedAPIConfiguration = {
    var api = ProtectedAPIConfiguration(issuer: "corp", audience: "a")
    api.identityHeaders = ["X-User": "sub", "X-Groups": "groups", "X-Admin": "admin"]
    return api
  }()

  private static func lines(_ response: ForwardedResponse) -> [String] {
    response.fields.lines.map { "\($0.name): \($0.value)" }
  }

  private static func accepted(_ claims: JSONValue) -> ForwardedResponse {
    ForwardedResponse(["valid": true, "claims": claims, "tokenType": "Bearer", "cached": false], at: api)
  }

  // Would catch an identity header that is left out, so that the client's reaches the API
  // (CVE-2026-30851).
  @Test("an accepted request gets every identity header, empty where the claim is missing")
  func identity() {
    let response = Self.accepted(["sub": "alice", "groups": ["a", "b"]])
    #expect(response.status == 200)
    #expect(Self.lines(response) == ["Cache-Control: no-store", "X-Admin: ", "X-Groups: a,b", "X-User: alice"])
    #expect(Self.lines(Self.accepted([:])) == ["Cache-Control: no-store", "X-Admin: ", "X-Groups: ", "X-User: "])
  }

  // Would catch a claim that adds a header field, or looks like another claim.
  @Test(
    "a claim is printable ASCII in one line",
    arguments: [
      ("alice", "alice"), ("a b", "a b"), (" a ", "%20a%20"), ("a%20", "a%2520"),
      ("a\r\nX-Admin: true", "a%0D%0AX-Admin: true"),
      ("é", "%C3%A9"), ("\u{0}", "%00"), ("\u{7f}", "%7F"), ("\t", "%09"), ("a,b", "a,b"), ("", ""), (12, "12"),
      (-1, "-1"),
      (true, "true"), (false, "false"), (.null, ""), (["a,b", "c"], "a%2Cb,c"), ([], ""), (["\n"], "%0A"),
    ] as [(JSONValue, String)])
  func claims(claim: JSONValue, text: String) {
    #expect(ClaimText.field(of: claim) == text)
    #expect(HTTPFieldRules.isValue(text) && text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F })
  }

  // Would catch a user who reaches the API without a name because the name could not be written.
  @Test(
    "a claim that cannot be written is an error, never an empty header",
    arguments: [
      ["a": "b"], [["a"]], [1], 1.5, ["a", .null], .string(String(repeating: "a", count: 4097)),
      .string(String(repeating: "\u{e9}", count: 700)),
    ] as [JSONValue])
  func unwritable(claim: JSONValue) {
    let response = Self.accepted(["sub": claim])
    #expect(response.status == 500)
    #expect(Self.lines(response).filter { $0.hasPrefix("X-User") || $0.hasPrefix("WWW") } == [])
  }

  // Would catch a status that fronts take for an error of the server, or for a permission, and a lost challenge or
  // nonce (mod_auth_openidc #124, better-auth #10039).
  @Test("a rejection is 401 or 403, with its challenge and nonce alone")
  func rejections() {
    func response(_ status: JSONValue, _ headers: JSONValue = ["WWW-Authenticate": "Bearer"]) -> ForwardedResponse {
      ForwardedResponse(
        ["valid": false, "error": ["code": "token_missing"], "response": ["status": status, "headers": headers]],
        at: Self.api)
    }
    #expect(response(401).status == 401)
    #expect(Self.lines(response(401)) == ["Cache-Control: no-store", "WWW-Authenticate: Bearer"])
    #expect(response(403).status == 403)
    #expect(response(400).status == 403)
    let nonce = response(
      401, ["www-authenticate": ["DPoP a", "Bearer"], "dpop-nonce": "n", "x-user": "root", "cache-control": "x"])
    #expect(
      Self.lines(nonce) == [
        "Cache-Control: no-store", "WWW-Authenticate: DPoP a", "WWW-Authenticate: Bearer", "DPoP-Nonce: n",
      ])
    #expect(Self.lines(response(401, ["WWW-Authenticate": "a\r\nb"])) == ["Cache-Control: no-store"])
    for status in [200, 204, 302, 500, 503, "401", .null] as [JSONValue] {
      #expect(response(status) == .unavailable)
    }
  }

  // Would catch a result of another shape that counts as accepted.
  @Test(
    "what is no result is no permission",
    arguments: [
      .null, true, [], [:], ["valid": true], ["valid": "true", "claims": [:]], ["valid": 1, "claims": [:]],
      ["valid": true, "claims": []], ["valid": true, "claims": [:], "response": ["status": 401]],
      ["valid": false, "claims": [:]], ["valid": false, "response": ["status": 200]], ["valid": false], ["claims": [:]],
    ] as [JSONValue])
  func otherResults(result: JSONValue) {
    #expect(ForwardedResponse(result, at: Self.api) == .unavailable)
    #expect(ForwardedResponse.unavailable.status == 503)
    #expect(Self.lines(.unavailable) == ["Cache-Control: no-store", "Retry-After: 1"])
  }
}
