import JOSE
import Playground
import PlaygroundTestSupport
import PosternJSON
import PosternSupport
import Testing

@Suite struct AuthorizationCodeTests {
  @Test("A code gives an access token, a refresh token and an ID token with everything the request named")
  func tokens() async throws {
    try await Upstream.run { upstream in
      let tokens = try await upstream.tokens()
      #expect(tokens["token_type"] == "Bearer")
      #expect(tokens["scope"] == "openid profile email orders")
      #expect(tokens["refresh_token"]?.stringValue?.isEmpty == false)
      let now = upstream.clock.wallNow.secondsSinceEpoch
      let (header, claims) = try await upstream.claims(tokens["id_token"])
      #expect(header.algorithm == "RS256")
      #expect(claims["iss"]?.stringValue == upstream.server.issuer)
      #expect(claims["aud"] == "shop")
      #expect(claims["sub"] == "user-1001")
      #expect(claims["nonce"] == "n-1")
      #expect(claims["iat"] == .integer(now))
      #expect(claims["exp"] == .integer(now + 300))
      #expect(claims["auth_time"] == .integer(now))
      #expect(claims["acr"] == "pwd")
      #expect(claims["amr"] == ["pwd"])
      #expect(claims["azp"] == nil)
      #expect(claims["sid"]?.stringValue?.isEmpty == false)
      let accessToken = try #require(tokens["access_token"]?.stringValue)
      #expect(claims["at_hash"]?.stringValue == Upstream.leftHalfHash(of: accessToken))
      let access = try await upstream.claims(tokens["access_token"]).claims
      #expect(access["sub"] == "user-1001")
      #expect(access["client_id"] == "shop")
      #expect(access["acr"] == "pwd")
      #expect(try await upstream.send("GET", "/resource/orders", bearer: accessToken).status == 200)
    }
  }

  @Test(
    "ID tokens are signed as the client is registered, with an at_hash of that algorithm",
    arguments: ["RS256", "ES256", "EdDSA"])
  func algorithms(name: String) async throws {
    var client = try #require(PlaygroundClient.defaults.first { $0.id == "shop" })
    client.idTokenAlgorithm = name
    client.idTokenAudiences = ["another"]
    try await Upstream.run(PlaygroundConfiguration(clients: [client])) { upstream in
      let tokens = try await upstream.tokens()
      let (header, claims) = try await upstream.claims(tokens["id_token"])
      #expect(header.algorithm == name)
      #expect(claims["aud"] == ["shop", "another"])
      #expect(claims["azp"] == "shop")
      let size = claims["at_hash"]?.stringValue.flatMap { Base64URL.decode($0) }?.count
      #expect(size == (name == "EdDSA" ? 32 : 16))
    }
  }

  @Test("A second use of a code is rejected and revokes every token of the first (RFC 6749 section 4.1.2)")
  func replay() async throws {
    try await Upstream.run { upstream in
      let code = try await upstream.code()
      let tokens = try await upstream.redeem(code).json
      let accessToken = try #require(tokens["access_token"]?.stringValue)
      let other = try #require(try await upstream.tokens()["access_token"]?.stringValue)
      #expect(try await upstream.redeem(code).json["error"] == "invalid_grant")
      #expect(try await upstream.send("GET", "/resource/orders", bearer: accessToken).status == 401)
      #expect(try await upstream.refresh(tokens["refresh_token"]).json["error"] == "invalid_grant")
      #expect(try await upstream.send("GET", "/resource/orders", bearer: other).status == 200)
      #expect(try await upstream.counter("codeReplays") == 1)
      #expect(try await upstream.counter("refreshTokenReuseDetected") == 0)
    }
  }

  @Test("Of many uses of a code at once one succeeds at most", .timeLimit(.minutes(1)))
  func race() async throws {
    try await Upstream.run { upstream in
      let code = try await upstream.code()
      let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<16 { group.addTask { try await upstream.redeem(code).status } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(statuses.count { $0 == 200 } == 1)
    }
  }

  static let rejected: [([String: String?], String)] = [
    (["code": nil], "invalid_request"),
    (["code": "unknown"], "invalid_grant"),
    (["redirect_uri": nil], "invalid_grant"),
    (["redirect_uri": "http://127.0.0.1:4712/callback"], "invalid_grant"),
    (["code_verifier": nil], "invalid_grant"),
    (["code_verifier": String(repeating: "w", count: 43)], "invalid_grant"),
    (["code_verifier": "short"], "invalid_grant"),
    (["code_verifier": String(repeating: "v", count: 129)], "invalid_grant"),
    (["resource": "https://elsewhere.example"], "invalid_target"),
  ]

  @Test("A code is valid only with everything that belongs to it", arguments: rejected)
  func rejections(changes: [String: String?], error: String) async throws {
    try await Upstream.run { upstream in
      let response = try await upstream.redeem(try await upstream.code(), "shop", changes)
      #expect(response.status == 400)
      #expect(response.json["error"]?.stringValue == error)
    }
  }

  @Test(
    "A verifier without a challenge before it is rejected: otherwise leaving the challenge out would switch PKCE off")
  func downgrade() async throws {
    try await Upstream.run { upstream in
      let changes: [String: String?] = ["code_challenge": nil, "code_challenge_method": nil]
      let code = try await upstream.code("shop", changes)
      #expect(try await upstream.redeem(code).json["error"] == "invalid_grant")
      let plain = try await upstream.code("shop", changes)
      #expect(try await upstream.redeem(plain, "shop", ["code_verifier": nil]).status == 200)
    }
  }

  @Test("A code lives for a minute, and for one client only; another client's attempt does not use it up")
  func bounds() async throws {
    try await Upstream.run { upstream in
      let late = try await upstream.code()
      upstream.clock.advance(by: .seconds(60))
      #expect(try await upstream.redeem(late).json["error"] == "invalid_grant")
      let code = try await upstream.code()
      #expect(try await upstream.redeem(code, "cli").json["error"] == "invalid_grant")
      #expect(try await upstream.redeem(code).status == 200)
    }
  }

  @Test("Granted resources become the audience, all of them or those the token request names")
  func resources() async throws {
    try await Upstream.run { upstream in
      let request = Upstream.request() + [("resource", "https://a.example"), ("resource", "https://b.example")]
      let browser = Browser(upstream)
      func code() async throws -> String {
        let page = try await browser.get("/oidc/authorize?" + Upstream.form(request + [("prompt", "login")]))
        return try #require(try await browser.signIn(at: page).redirected["code"])
      }
      let all = try await upstream.redeem(try await code())
      #expect(
        try await upstream.claims(all.json["access_token"]).claims["aud"] == ["https://a.example", "https://b.example"])
      let one = try await upstream.redeem(try await code(), "shop", ["resource": "https://b.example"])
      #expect(try await upstream.claims(one.json["access_token"]).claims["aud"] == "https://b.example")
      let narrowed = try await upstream.refresh(one.json["refresh_token"], "shop", [("resource", "https://a.example")])
      #expect(try await upstream.claims(narrowed.json["access_token"]).claims["aud"] == "https://a.example")
    }
  }

  @Test("Without the scope openid there is no ID token, without the grant no refresh token")
  func less() async throws {
    var client = try #require(PlaygroundClient.defaults.first { $0.id == "shop" })
    client.grants = [.authorizationCode]
    try await Upstream.run(PlaygroundConfiguration(clients: [client])) { upstream in
      let tokens = try await upstream.tokens("shop", ["scope": "orders"])
      #expect(tokens["id_token"] == nil)
      #expect(tokens["refresh_token"] == nil)
      let rejected = try await upstream.tokenRequest([("grant_type", "client_credentials")])
      #expect(rejected.json["error"] == "unauthorized_client")
    }
  }

  @Test(
    "Each fault of ID tokens changes one claim or part, and nothing else",
    arguments: [
      ("wrongIssuer", "iss"), ("wrongAudience", "aud"), ("wrongNonce", "nonce"), ("wrongHash", "at_hash"),
      ("wrongSubject", "sub"), ("expired", "exp"),
    ])
  func spoilt(kind: String, claim: String) async throws {
    try await Upstream.run { upstream in
      let good = try await upstream.claims(upstream.tokens()["id_token"]).claims
      try await upstream.setFaults(#"{"idToken": {"kind": "\#(kind)", "times": 1}}"#)
      let bad = try await upstream.claims(upstream.tokens()["id_token"]).claims
      #expect(bad[claim] != good[claim])
      try await upstream.setFaults(#"{"idToken": {"kind": "badSignature", "times": 1}}"#)
      let token = try await upstream.tokens()["id_token"]
      await #expect(throws: (any Error).self) { try await upstream.claims(token) }
    }
  }
}
