import PosternJSON
import PosternProtocol
import PosternTestSupport
import Testing

@Suite("getAccessToken: the answer on the wire")
struct AccessTokenResultTests {
  private static let yaml = """
    issuers: { corp: { issuer: "https://idp.test", clientId: shop, clientSecret: s } }
    tokens: { leaveTheSidecar: true }
    """

  @Test("the answer is the documented result, with a scope and without", arguments: ["orders", nil])
  func documented(scope: String?) async throws {
    let connection = try SidecarBench(Self.yaml).connect()
    var grant: JSONObject = ["type": "tokens", "accessToken": "a-token", "expiresIn": 600]
    if let scope { grant["scope"] = .string(scope) }
    let session = await connection.call("createSession", ["issuer": "corp", "grant": .object(grant)])
    let handle = try #require(session["result"]?["session"])
    let json = try #require(await connection.call("getAccessToken", ["issuer": "corp", "session": handle])["result"])
    let result = try JSONValueDecoder().decode(GetAccessToken.Result.self, from: json)
    #expect(result.accessToken == "a-token")
    #expect(result.tokenType == "Bearer")
    #expect(result.scope == scope)
    #expect(try JSONValueEncoder().encode(result) == json)
  }
}
