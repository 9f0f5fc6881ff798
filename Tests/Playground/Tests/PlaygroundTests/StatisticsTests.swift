import Playground
import PosternJSON
import Testing

@Suite struct StatisticsTests {
  @Test("Token requests are counted by client and method, also when rejected; names that are no client's are not kept")
  func tokenRequests() async throws {
    try await Upstream.run { upstream in
      let form = "grant_type=client_credentials"
      _ = try await upstream.post("/oidc/token", form)
      _ = try await upstream.post("/oidc/token", form, basic: "svc:wrong")
      _ = try await upstream.post("/oidc/token", form + "&client_id=svc&client_secret=svcsecret", basic: nil)
      _ = try await upstream.post("/oidc/token", form, basic: "stranger:x")
      let json = try await upstream.send("GET", "/playground/statistics").json
      #expect(json["tokenRequests"] == 4)
      #expect(json["tokensIssued"] == 2)
      #expect(json["tokenErrors"] == 2)
      #expect(json["clients"] == ["svc": ["requests": 3, "client_secret_basic": 2, "client_secret_post": 1]])
    }
  }

  @Test("Every kind of request has its counter, and DELETE sets all to zero")
  func counters() async throws {
    try await Upstream.run { upstream in
      let token = try await upstream.token("scope=profile")
      _ = try await upstream.send("GET", "/resource/orders", bearer: token)
      _ = try await upstream.send("GET", "/resource/orders")
      _ = try await upstream.send("GET", "/open/echo")
      _ = try await upstream.send("GET", "/oidc/jwks")
      _ = try await upstream.send("GET", "/.well-known/oauth-authorization-server/oidc")
      let json = try await upstream.send("GET", "/playground/statistics").json
      #expect(json["resourceRequests"] == 2)
      #expect(json["resourceUnauthorized"] == 1)
      #expect(json["resourceForbidden"] == 1)
      #expect(json["openRequests"] == 1)
      #expect(json["keySetRequests"] == 1)
      #expect(json["discoveryRequests"] == 1)
      #expect(json["connections"] == 7)
      let reset = try await upstream.send("DELETE", "/playground/statistics").json
      #expect(reset["tokenRequests"] == 0)
      #expect(reset["clients"] == [:])
    }
  }
}
