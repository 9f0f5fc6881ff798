import HTTPMessages
import PosternConfiguration
import PosternJSON
import Testing

@testable import SidecarGateway

/// The response to a front. Fronts let every 2xx pass, so 200 is for nothing but an accepted request.
@Suite struct ForwardedResponseTests {
  private static let api: ProtectedAPIConfiguration = {
    var api = ProtectedAPIConfiguration(issuer: "corp", audience: "a")
    api.identityHeaders = ["X-User": "sub", "X-Groups": "groups", "X-Admin": "admin"]
    return api
  }()

  private static let tooLong =
    "is too long: all identity headers may take 3840 bytes (identityHeaderBytes)"

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
      ("é", "%C3%A9"), ("\u{0}", "%00"), ("\u{7f}", "%7F"), ("\t", "%09"), ("a,b", "a,b"), ("", ""),
      ("\u{85}\u{2028}", "%C2%85%E2%80%A8"), (12, "12"), (-1, "-1"), (.integer(.min), "-9223372036854775808"),
      (1.5, "1.5"), (-0.25, "-0.25"), (.real(1000), "1000"), (.real(-0.0), "0"), (.real(1e-7), "1e-07"),
      (true, "true"), (false, "false"), (.null, ""), (["a,b", "c"], "a%2Cb,c"), ([], ""), (["\n"], "%0A"),
      ([1, 1.5, true, "a"], "1,1.5,true,a"),
    ] as [(JSONValue, String)])
  func claims(claim: JSONValue, text: String) throws {
    #expect(try ClaimText.field(of: claim) == text)
    #expect(HTTPFieldRules.isValue(text) && text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F })
    #expect(Self.accepted(["sub": claim]).emptied == [])
  }

  // Would catch a valid token that is rejected for what it contains, a client's own header that reaches the API, and an
  // empty header that nobody can explain.
  @Test(
    "a claim that cannot be written leaves its header empty, with the reason",
    arguments: [
      (["a": "b"], "is an object"), ([:], "is an object"),
      ([["a"]], "is a list with members other than texts, numbers and truth values"),
      ([["a": 1]], "is a list with members other than texts, numbers and truth values"),
      (["a", .null], "is a list with members other than texts, numbers and truth values"),
      (.real(0x1p53), "is a number with more digits than can be written exactly"),
      (.real(-1e300), "is a number with more digits than can be written exactly"),
      ([.real(1e20)], "is a number with more digits than can be written exactly"),
      (.string(String(repeating: "a", count: 4096)), tooLong),
      (.string(String(repeating: "\u{e9}", count: 700)), tooLong),
      (.array(Array(repeating: "00000000-1111-2222-3333-444444444444", count: 120)), tooLong),
    ] as [(JSONValue, String)])
  func unwritable(claim: JSONValue, reason: String) {
    let response = Self.accepted(["sub": claim, "admin": true])
    #expect(response.status == 200)
    #expect(Self.lines(response) == ["Cache-Control: no-store", "X-Admin: true", "X-Groups: ", "X-User: "])
    #expect(response.emptied == [IdentityFields.Emptied(name: "X-User", claim: "sub", reason: reason)])
  }

  // Would catch a long list of groups by which a user loses their name, and a response that the front cannot read.
  @Test("the headers take at most their bytes together, and the longest is the one that is empty")
  func size() throws {
    var api = Self.api
    let groups = JSONValue.array(Array(repeating: "00000000-1111-2222-3333-444444444444", count: 200))
    func response(_ claims: JSONValue) -> ForwardedResponse {
      ForwardedResponse(["valid": true, "claims": claims, "tokenType": "Bearer", "cached": false], at: api)
    }
    let short = response(["sub": "alice", "groups": groups, "admin": .string(String(repeating: "b", count: 2000))])
    #expect(short.emptied.map(\.name) == ["X-Groups"] && short.fields["X-User"] == "alice")
    #expect(short.fields["X-Admin"]?.utf8.count == 2000)
    let lines = { (response: ForwardedResponse) in
      let fields = response.fields.lines.filter { $0.name.hasPrefix("X-") }
      return fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }
    }
    for count in [3700, 3800, 3810, 3820, 3840] {
      #expect(lines(response(["sub": .string(String(repeating: "a", count: count))])) <= 3840)
    }
    api.identityHeaderBytes = 16 << 10
    let long = response(["sub": "alice", "groups": groups])
    #expect(long.emptied == [] && long.fields["X-Groups"]?.utf8.count == 200 * 37 - 1)
  }

  // Would catch roles in Keycloak's tokens that no header can report, and a name with dots that is taken for a path.
  @Test(
    "a name with dots is the claim of that name, else a path",
    arguments: [
      (["realm_access": ["roles": ["a", "b"]]], "a,b"),
      (["realm_access.roles": "c", "realm_access": ["roles": ["a"]]], "c"),
      (["realm_access": "roles"], ""), (["realm_access": ["roles": .null]], ""), ([:], ""), (["roles": ["a"]], ""),
      (["realm_access": ["roles": ["a": 1]]], ""),
    ] as [(JSONValue, String)])
  func path(claims: JSONValue, text: String) {
    var api = Self.api
    api.identityHeaders = ["X-Roles": "realm_access.roles"]
    let response = ForwardedResponse(["valid": true, "claims": claims], at: api)
    #expect(response.status == 200 && response.fields["X-Roles"] == text)
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
