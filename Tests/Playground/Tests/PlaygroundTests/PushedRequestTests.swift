import PlaygroundTestSupport
import PosternJSON
import PosternSupport
import Testing

@testable import Playground

@Suite struct PushedRequestTests {
  private static func push(
    _ upstream: Upstream, _ client: String = "shop", _ changes: [String: String?] = [:]
  ) async throws -> RawHTTP.Response {
    let basic = client == "svc" ? "svc:svcsecret" : client == "shop" ? "shop:shopsecret" : nil
    return try await upstream.post("/oidc/par", Upstream.form(Upstream.request(client, changes)), basic: basic)
  }

  private static func open(
    _ upstream: Upstream, _ pushed: RawHTTP.Response, _ client: String = "shop"
  ) async throws -> RawHTTP.Response {
    let reference = try #require(pushed.json["request_uri"]?.stringValue)
    return try await upstream.send(
      "GET", "/oidc/authorize?client_id=\(client)&request_uri=" + PercentCoding.encode(reference))
  }

  @Test("A pushed request is carried out from its reference, once, for its client, within a minute")
  func pushed() async throws {
    try await Upstream.run { upstream in
      let pushed = try await Self.push(upstream)
      #expect(pushed.status == 201)
      #expect(pushed.json["expires_in"] == 60)
      #expect(pushed["cache-control"] == ["no-store"])
      #expect(try await Self.open(upstream, pushed, "cli").status == 400)
      let page = try await Self.open(upstream, pushed)
      #expect(page.status == 200)
      let signedIn = try await Browser(upstream).signIn(at: page)
      #expect(signedIn.redirected["state"] == "s t&te")
      #expect(try await upstream.redeem(try #require(signedIn.redirected["code"])).status == 200)
      let again = try await Self.open(upstream, pushed)
      #expect(again.status == 400)
      #expect(again["location"].isEmpty)
      let late = try await Self.push(upstream, "cli")
      upstream.clock.advance(by: .seconds(60))
      #expect(try await Self.open(upstream, late, "cli").status == 400)
    }
  }

  static let rejected: [([String: String?], String)] = [
    (["redirect_uri": "http://evil.example/"], "invalid_request"), (["client_id": nil], "invalid_request"),
    (["scope": "unheard"], "invalid_scope"),
    (["code_challenge_method": "plain"], "invalid_request"), (["request": "x"], "request_not_supported"),
    (["request_uri": "urn:ietf:params:oauth:request_uri:x"], "invalid_request"),
    (["response_type": "token"], "unsupported_response_type"),
  ]

  @Test("Every fault is reported at once (RFC 9126 section 2.3)", arguments: rejected)
  func rejections(changes: [String: String?], error: String) async throws {
    try await Upstream.run { upstream in
      let response = try await Self.push(upstream, "shop", changes)
      #expect(response.status == 400)
      #expect(response.json["error"]?.stringValue == error)
    }
  }

  @Test("Only clients that prove who they are can push, and only clients with users")
  func clients() async throws {
    try await Upstream.run { upstream in
      let rejected = try await Self.push(upstream, "svc")
      #expect(rejected.json["error"] == "unauthorized_client")
      let form = Upstream.request() + [("client_secret", "wrong")]
      #expect(try await upstream.call("/oidc/par", form, "").json["error"] == "invalid_client")
    }
  }

  @Test("A proof at the endpoint binds the code to its key (RFC 9449 section 10.1)")
  func bound() async throws {
    try await Upstream.run { upstream in
      let prover = try DPoPTests.Prover()
      let request = Upstream.request("cli").filter { $0.0 != "client_id" }
      let pushed = try await upstream.call(
        "/oidc/par", request, "cli", [try prover.proof(upstream, "POST", "/oidc/par")])
      let signedIn = try await Browser(upstream).signIn(at: Self.open(upstream, pushed, "cli"))
      let code = try #require(signedIn.redirected["code"])
      #expect(try await upstream.redeem(code, "cli").json["error"] == "invalid_grant")
      let other = request + [("dpop_jkt", try DPoPTests.Prover().thumbprint)]
      let rejected = try await upstream.call(
        "/oidc/par", other, "cli", [try prover.proof(upstream, "POST", "/oidc/par")])
      #expect(rejected.json["error"] == "invalid_dpop_proof")
    }
  }
}
