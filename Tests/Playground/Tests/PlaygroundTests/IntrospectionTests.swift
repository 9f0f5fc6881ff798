import Playground
import PlaygroundTestSupport
import PosternJSON
import Testing

@Suite struct IntrospectionTests {
  @Test(
    "A valid token is active with its claims; an expired, revoked or foreign one is inactive without claims")
  func introspection() async throws {
    try await Upstream.run { upstream in
      let token = try await upstream.token("scope=orders")
      let active = try await upstream.post("/oidc/introspect", "token=" + token)
      #expect(active.json["active"] == true)
      #expect(active.json["client_id"] == "svc")
      #expect(active.json["scope"] == "orders")
      let foreign = try await upstream.post("/oidc/introspect", "token=foreign")
      #expect(foreign.json == ["active": false])
      upstream.clock.advance(by: .seconds(60))
      let expired = try await upstream.post("/oidc/introspect", "token=" + token)
      #expect(expired.json == ["active": false])
      #expect(try await upstream.post("/oidc/introspect", "token=" + token, basic: "svc:wrong").status == 401)
      #expect(try await upstream.post("/oidc/introspect", "").json["error"] == "invalid_request")
    }
  }

  @Test("A revoked token is rejected from then on, another one is not, and only its own client may revoke it")
  func revocation() async throws {
    try await Upstream.run { upstream in
      let token = try await upstream.token()
      let other = try await upstream.token()
      let stranger = "odd%3Aclient%2B1:p%40ss+word%2F%25%26%2B%C3%A9"
      #expect(try await upstream.post("/oidc/revoke", "token=" + token, basic: stranger).status == 400)
      #expect(try await upstream.send("GET", "/resource/orders", bearer: token).status == 200)
      #expect(try await upstream.post("/oidc/revoke", "token=" + token).status == 200)
      #expect(try await upstream.post("/oidc/revoke", "token=unknown").status == 200)
      #expect(try await upstream.send("GET", "/resource/orders", bearer: token).status == 401)
      #expect(try await upstream.send("GET", "/resource/orders", bearer: other).status == 200)
    }
  }
}
