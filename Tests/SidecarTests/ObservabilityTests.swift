import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@Suite("Metrics, health and the log")
struct ObservabilityTests {
  private static let device = """
    issuers:
      corp: { issuer: "https://idp.test", clientId: shop, clientSecret: "client-secret-1" , endpoints: { token: "https://idp.test/token" } }
    resources: { api: { baseUrl: "https://a.test/", issuer: corp, auth: clientCredentials } }
    """

  private static func upstream(_ request: HTTPRequest) -> HTTPResponse {
    if request.url.path == "/token" {
      return HTTPResponse(
        status: 200, fields: HTTPFields([.init(name: "Content-Type", value: "application/json")]),
        body: Array(#"{"access_token":"access-token-1","token_type":"Bearer","expires_in":60}"#.utf8))
    }
    return HTTPResponse(status: 200, body: Array("body-secret-1".utf8))
  }

  @Test(
    "calls are counted by method and outcome, unknown methods under one name, so that no caller can make the text grow")
  func metrics() async throws {
    let bench = try SidecarBench(CallTests.open)
    let connection = bench.connect()
    for _ in 0..<3 { _ = await connection.call("getInfo") }
    for name in ["a", "b"] { _ = await connection.call(name) }
    _ = await connection.call("fetchResource", ["path": "x"])
    let text = await connection.call("metrics")["result"]?["text"]?.stringValue ?? ""
    #expect(text.contains(#"postern_rpc_requests_total{method="getInfo",outcome="result"} 3"#))
    #expect(text.contains(#"postern_rpc_requests_total{method="unknown",outcome="method_not_found"} 2"#))
    #expect(text.contains(#"postern_rpc_duration_seconds_bucket{method="getInfo",outcome="result",le="+Inf"} 3"#))
    #expect(text.contains(#"postern_upstream_requests_total{kind="resource",outcome="2xx"} 1"#))
    #expect(text.contains("postern_connections 1\n"))
    #expect(!text.contains("method=\"a\""))
  }

  @Test("the token cache shows in the metrics: one token request, then hits")
  func tokenCache() async throws {
    let bench = try SidecarBench(Self.device) { request, _ async throws(TransportError) in Self.upstream(request) }
    let connection = bench.connect()
    for _ in 0..<3 { _ = await connection.call("fetchResource", ["path": "x"]) }
    let text = await connection.call("metrics")["result"]?["text"]?.stringValue ?? ""
    #expect(text.contains(#"postern_token_cache_requests_total{result="hit"} 2"#))
    #expect(text.contains(#"postern_upstream_requests_total{kind="token",outcome="2xx"} 1"#))
  }

  @Test("an issuer that fails makes health degraded and notifies subscribers, without a call that needs it")
  func health() async throws {
    let bench = try SidecarBench(Self.device) { _, _ async throws(TransportError) in
      throw TransportError(code: .serverUnreachable, outcome: .notSent, detail: "refused")
    }
    let listener = bench.connect()
    _ = await listener.call("subscribe", ["events": ["event.healthChanged"]])
    let connection = bench.connect()
    #expect(await connection.call("health")["result"]?["checks"]?["issuer.corp"]?["status"] == "ok")
    let failed = await connection.call("fetchResource", ["path": "x"])["error"]
    #expect(failed?["data"]?["reason"] == "server_unreachable")
    #expect(failed?["data"]?["retryable"] == true)
    #expect(await listener.next()?["params"]?["status"] == "degraded")
    #expect(await connection.call("health")["result"]?["checks"]?["issuer.corp"]?["status"] == "degraded")
    #expect(bench.transport.requests.count == 1)
  }

  @Test("no secret is in any log line at trace level, in any answer, or in the metrics")
  func secrets() async throws {
    let bench = try SidecarBench(Self.device) { request, _ async throws(TransportError) in
      if request.url.path == "/reject" { return HTTPResponse(status: 401, fields: Self.challenge) }
      return Self.upstream(request)
    }
    let connection = bench.connect()
    var returned = ""
    for path in ["x?key=query-secret-1", "reject"] {
      returned += JSONWriter().string(
        await connection.call(
          "fetchResource",
          [
            "path": .string(path), "method": "POST", "body": "request-secret-1",
            "headers": ["X-Key": "header-secret-1"],
          ]
        ))
    }
    bench.write(
      "resources: { a: { baseUrl: 'https://u:url-secret-1@x/' } }\nissuers: { a: { clientSecret: client-secret-2 } }")
    returned += JSONWriter().string(await connection.call("reloadConfig"))
    returned += JSONWriter().string(await connection.call("metrics"))
    let log = bench.lines.withLock { $0.joined() }
    #expect(log.contains("call ended"))
    for secret in [
      "client-secret-1", "client-secret-2", "access-token-1", "request-secret-1", "header-secret-1", "url-secret-1",
    ] {
      #expect(!log.contains(secret), "\(secret) is in the log")
      #expect(!returned.contains(secret), "\(secret) was returned to the caller")
    }
    #expect(!log.contains("query-secret-1"))
    #expect(!log.contains("body-secret-1"))
  }

  private static let challenge = HTTPFields([.init(name: "WWW-Authenticate", value: #"Bearer error="invalid_token""#)])
}
