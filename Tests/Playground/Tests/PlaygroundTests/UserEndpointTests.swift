import JOSE
import Playground
import PlaygroundTestSupport
import PosternJSON
import PosternSupport
import Testing

@Suite struct UserEndpointTests {
  @Test("UserInfo shows what the scopes allow, to GET and POST, and nothing to other tokens")
  func userInfo() async throws {
    try await Upstream.run { upstream in
      let full = try #require(try await upstream.tokens()["access_token"]?.stringValue)
      let answer = try await upstream.send("GET", "/oidc/userinfo", bearer: full)
      #expect(answer.json["sub"] == "user-1001")
      #expect(answer.json["email"] == "alice@example.test")
      #expect(answer.json["preferred_username"] == "alice")
      let small = try #require(try await upstream.tokens("shop", ["scope": "openid"])["access_token"]?.stringValue)
      #expect(try await upstream.send("POST", "/oidc/userinfo", bearer: small).json == ["sub": "user-1001"])
      let without = try #require(try await upstream.tokens("shop", ["scope": "orders"])["access_token"]?.stringValue)
      #expect(try await upstream.send("GET", "/oidc/userinfo", bearer: without).status == 403)
      #expect(try await upstream.send("GET", "/oidc/userinfo", bearer: try await upstream.token()).status == 403)
      #expect(try await upstream.send("GET", "/oidc/userinfo").status == 401)
      try await upstream.setFaults(#"{"userinfo": {"kind": "unauthorized", "times": 1}}"#)
      #expect(try await upstream.send("GET", "/oidc/userinfo", bearer: full).status == 401)
      #expect(try await upstream.counter("userInfoRequests") == 6)
    }
  }

  @Test("A living refresh token is active, a replaced, revoked or foreign one is not; a public client may not ask")
  func introspection() async throws {
    try await Upstream.run { upstream in
      let old = try #require(try await upstream.tokens()["refresh_token"]?.stringValue)
      let answer = try await upstream.call("/oidc/introspect", [("token", old), ("token_type_hint", "refresh_token")])
      #expect(answer.json["active"] == true)
      #expect(answer.json["client_id"] == "shop")
      #expect(answer.json["sub"] == "user-1001")
      #expect(answer.json["token_type"] == nil)
      let new = try #require(try await upstream.refresh(.string(old)).json["refresh_token"]?.stringValue)
      #expect(try await upstream.call("/oidc/introspect", [("token", old)]).json == ["active": false])
      #expect(try await upstream.call("/oidc/introspect", [("token", new)]).json["active"] == true)
      #expect(try await upstream.call("/oidc/introspect", [("token", new)], "cli").status == 401)
      #expect(try await upstream.counter("refreshTokenReuseDetected") == 0)
    }
  }

  @Test("Requested by media type, the answer is signed and is no token itself (RFC 9701 section 5)")
  func signedIntrospection() async throws {
    try await Upstream.run { upstream in
      let token = try await upstream.token()
      let accept = [("Accept", "application/json;q=0.1, Application/Token-Introspection+JWT")]
      let answer = try await upstream.call("/oidc/introspect", [("token", token)], "shop", accept)
      #expect(answer["content-type"] == ["application/token-introspection+jwt"])
      let (header, claims) = try await upstream.claims(.string(answer.text))
      #expect(header.parameters["typ"] == "token-introspection+jwt")
      #expect(claims["iss"]?.stringValue == upstream.server.issuer)
      #expect(claims["aud"] == "shop")
      #expect(claims["sub"] == nil && claims["exp"] == nil)
      #expect(claims["token_introspection"]?["active"] == true)
      #expect(try await upstream.send("GET", "/resource/orders", bearer: answer.text).status == 401)
    }
  }

  @Test("Revoking a refresh token ends its whole grant; another client cannot")
  func revocation() async throws {
    try await Upstream.run { upstream in
      let tokens = try await upstream.tokens("cli")
      let refreshToken = try #require(tokens["refresh_token"]?.stringValue)
      let accessToken = try #require(tokens["access_token"]?.stringValue)
      #expect(try await upstream.call("/oidc/revoke", [("token", refreshToken)]).json["error"] == "unauthorized_client")
      #expect(try await upstream.call("/oidc/revoke", [("token", refreshToken)], "cli").status == 200)
      #expect(try await upstream.refresh(.string(refreshToken), "cli").json["error"] == "invalid_grant")
      #expect(try await upstream.send("GET", "/resource/orders", bearer: accessToken).status == 401)
      #expect(try await upstream.counter("refreshTokenFamiliesRevoked") == 1)
    }
  }

  @Test(
    "Each endpoint has its faults",
    arguments: [
      ("pushedAuthorization", "/oidc/par"), ("deviceAuthorization", "/oidc/device_authorization"),
      ("introspection", "/oidc/introspect"), ("revocation", "/oidc/revoke"), ("logout", "/oidc/logout"),
      ("authorization", "/oidc/authorize"), ("userinfo", "/oidc/userinfo"),
    ])
  func faults(point: String, path: String) async throws {
    try await Upstream.run { upstream in
      try await upstream.setFaults(#"{"\#(point)": {"kind": "unavailable", "times": 1}}"#)
      #expect(try await upstream.call(path, []).status == 503)
      #expect(try await upstream.call(path, []).status != 503)
    }
  }

  @Test("A switch revokes all refresh tokens with their access tokens, and the next sign-in works")
  func revokeAll() async throws {
    try await Upstream.run { upstream in
      let tokens = try await upstream.tokens()
      try await upstream.setFaults(#"{"revokeRefreshTokens": true}"#)
      #expect(try await upstream.refresh(tokens["refresh_token"]).status == 400)
      let accessToken = try #require(tokens["access_token"]?.stringValue)
      #expect(try await upstream.send("GET", "/resource/orders", bearer: accessToken).status == 401)
      _ = try await upstream.tokens()
    }
  }

  @Test("The grant can be rejected by a switch, and each grant type has its counter")
  func rejectedGrant() async throws {
    try await Upstream.run { upstream in
      let token = try await upstream.tokens()["refresh_token"]
      try await upstream.setFaults(#"{"token": {"kind": "refuseGrant", "times": 1}}"#)
      #expect(try await upstream.refresh(token).json["error"] == "invalid_grant")
      #expect(try await upstream.refresh(token).status == 200)
      let grants = try await upstream.send("GET", "/playground/statistics").json["grants"]
      #expect(grants == ["authorization_code": 1, "refresh_token": 1])
    }
  }
}
