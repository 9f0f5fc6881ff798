import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@Suite("delegate.evaluateTokenRefresh: the caller decides whether a response calls for a new token")
struct DelegateTests {
  private static let device = """
    issuers: { corp: { issuer: "https://idp.test", clientId: shop, clientSecret: s, endpoints: { token: "https://idp.test/token" } } }
    resources: { api: { baseUrl: "https://a.test/", issuer: corp, auth: clientCredentials } }
    """

  private static func bench(status: Int, challenge: String? = nil) throws -> SidecarBench {
    let tokens = Locked(0)
    return try SidecarBench(device) { request, _ async throws(TransportError) in
      guard request.url.path == "/token" else {
        var fields = HTTPFields()
        if let challenge { fields.append("WWW-Authenticate", challenge) }
        let isFirst = request.fields["Authorization"] == "Bearer t1"
        return HTTPResponse(status: isFirst ? status : 200, fields: fields, body: Array("b".utf8))
      }
      let number = tokens.withLock { number in
        number += 1
        return number
      }
      return HTTPResponse(
        status: 200, fields: HTTPFields([.init(name: "Content-Type", value: "application/json")]),
        body: Array(#"{"access_token":"t\#(number)","token_type":"bearer","expires_in":600}"#.utf8))
    }
  }

  @Test("a registration is confirmed and replaces the one before")
  func registration() async throws {
    let connection = try Self.bench(status: 200).connect()
    let methods: JSONValue = ["delegate.updateRequest", "delegate.evaluateTokenRefresh"]
    #expect(await connection.call("registerDelegate", ["methods": methods])["result"]?["registered"] == methods)
    let none: JSONValue = []
    #expect(await connection.call("registerDelegate", ["methods": none])["result"]?["registered"] == none)
  }

  @Test(
    "the caller's answer takes precedence over the built-in rule; after nonsense or an error the rule decides",
    arguments: [
      (418, nil as String?, #""result":{"refresh":true}"#, true, 200),
      (401, #"Bearer error="invalid_token""#, #""result":{"refresh":false}"#, false, 401),
      (401, #"Bearer error="invalid_token""#, #""result":{"refresh":"yes"}"#, true, 200),
      (401, #"Bearer error="invalid_token""#, #""error":{"code":1,"message":"no"}"#, true, 200),
      (418, nil, #""error":{"code":1,"message":"no"}"#, false, 418),
    ])
  func decision(status: Int, challenge: String?, answer: String, refreshed: Bool, final: Int) async throws {
    let bench = try Self.bench(status: status, challenge: challenge)
    let connection = bench.connect()
    _ = await connection.call("registerDelegate", ["methods": ["delegate.evaluateTokenRefresh"]])
    connection.start("fetchResource", ["path": "x", "task": "t"])
    let question = await connection.next()
    #expect(question?["method"] == "delegate.evaluateTokenRefresh")
    #expect(question?["params"]?["status"] == .integer(Int64(status)))
    #expect(question?["params"]?["task"] == "t")
    let id = question?["id"]?.stringValue ?? ""
    connection.send(#"{"jsonrpc":"2.0","id":"\#(id)",\#(answer)}"#)
    let result = await connection.next()?["result"]
    #expect(result?["status"] == .integer(Int64(final)))
    #expect(result?["tokenRefreshed"] == .bool(refreshed))
  }

  @Test("a caller that never answers gets the built-in rule after 180 s")
  func patience() async throws {
    let bench = try Self.bench(status: 418)
    let connection = bench.connect()
    _ = await connection.call("registerDelegate", ["methods": ["delegate.evaluateTokenRefresh"]])
    connection.start("fetchResource", ["path": "x", "timeoutMs": 600_000])
    #expect(await connection.next()?["method"] == "delegate.evaluateTokenRefresh")
    // The fetch may sleep for its own time as well.
    #expect(await eventually { bench.clock.remainders.contains(.seconds(180)) })
    bench.clock.advance(by: .seconds(181))
    #expect(await connection.next()?["result"]?["status"] == 418)
  }
}
