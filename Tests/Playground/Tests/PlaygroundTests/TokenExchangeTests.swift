import JOSE
import Playground
import PlaygroundTestSupport
import PosternCrypto
import PosternJSON
import PosternSupport
import Testing

@Suite struct TokenExchangeTests {
  private static let type = "urn:ietf:params:oauth:token-type:"

  private static func exchange(
    _ upstream: Upstream, _ token: JSONValue?, _ kind: String, _ more: [(String, String)] = []
  ) async throws -> RawHTTP.Response {
    try await upstream.tokenRequest(
      [
        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
        ("subject_token", token?.stringValue ?? ""), ("subject_token_type", type + kind),
      ] + more)
  }

  @Test(
    "Each kind of subject token gives an access token about the same user, with its type named",
    arguments: ["access_token", "id_token", "refresh_token"])
  func kinds(kind: String) async throws {
    try await Upstream.run { upstream in
      let tokens = try await upstream.tokens()
      let response = try await Self.exchange(
        upstream, tokens[kind], kind, [("audience", "backend"), ("scope", "orders")])
      #expect(response.status == 200, "\(response.text)")
      #expect(response.json["issued_token_type"]?.stringValue == Self.type + "access_token")
      #expect(response.json["token_type"] == "Bearer")
      #expect(response.json["refresh_token"] == nil)
      let claims = try await upstream.claims(response.json["access_token"]).claims
      #expect(claims["sub"] == "user-1001")
      #expect(claims["aud"] == "backend")
      #expect(claims["scope"] == "orders")
      #expect(claims["act"] == nil)
      #expect(try await upstream.refresh(tokens["refresh_token"]).status == 200)
    }
  }

  @Test("An actor is in act, around the actors before it (RFC 8693 section 4.1)")
  func actors() async throws {
    try await Upstream.run { upstream in
      let subject = try await upstream.tokens()["access_token"]
      let actor: [(String, String)] = [
        ("actor_token", try await upstream.token()), ("actor_token_type", Self.type + "jwt"),
      ]
      let first = try await Self.exchange(upstream, subject, "access_token", actor).json["access_token"]
      #expect(try await upstream.claims(first).claims["act"] == ["sub": "svc"])
      let second = try await Self.exchange(upstream, first, "jwt", actor).json["access_token"]
      #expect(try await upstream.claims(second).claims["act"] == ["sub": "svc", "act": ["sub": "svc"]])
    }
  }

  @Test("An exchanged token ends with the grant it came from")
  func revocation() async throws {
    try await Upstream.run { upstream in
      let tokens = try await upstream.tokens()
      let exchanged = try await Self.exchange(upstream, tokens["access_token"], "access_token").json["access_token"]
      let text = try #require(exchanged?.stringValue)
      #expect(try await upstream.send("GET", "/resource/orders", bearer: text).status == 200)
      let refreshToken = try #require(tokens["refresh_token"]?.stringValue)
      #expect(try await upstream.call("/oidc/revoke", [("token", refreshToken)]).status == 200)
      #expect(try await upstream.send("GET", "/resource/orders", bearer: text).status == 401)
    }
  }

  static let wrong: [([(String, String)], String)] = [
    ([("actor_token", "x")], "invalid_request"),
    ([("actor_token_type", "urn:ietf:params:oauth:token-type:jwt")], "invalid_request"),
    ([("requested_token_type", "urn:ietf:params:oauth:token-type:saml2")], "invalid_request"),
    ([("scope", "orders:write")], "invalid_scope"), ([("resource", "relative")], "invalid_target"),
  ]

  @Test(
    "Contradictory parameters are rejected; more scopes than the subject token has are not available", arguments: wrong)
  func rejections(more: [(String, String)], error: String) async throws {
    try await Upstream.run { upstream in
      let token = try await upstream.tokens()["access_token"]
      let response = try await Self.exchange(upstream, token, "access_token", more)
      #expect(response.json["error"]?.stringValue == error)
    }
  }

  @Test("A token of another kind than named, foreign or expired, is an invalid request (section 2.2.2)")
  func badTokens() async throws {
    try await Upstream.run { upstream in
      let tokens = try await upstream.tokens()
      for (token, kind) in [
        (tokens["access_token"], "id_token"), (tokens["id_token"], "access_token"), (tokens["id_token"], "saml1"),
        ("nonsense", "refresh_token"), ("nonsense", "jwt"), (nil, "jwt"),
      ] {
        #expect(try await Self.exchange(upstream, token, kind).json["error"] == "invalid_request")
      }
      upstream.clock.advance(by: .seconds(300))
      for kind in ["access_token", "id_token"] {
        #expect(try await Self.exchange(upstream, tokens[kind], kind).json["error"] == "invalid_request")
      }
    }
  }

  @Test(
    "A JWT that the client signs about a user is a subject too, once, and without scopes of users")
  func assertion() async throws {
    try await Upstream.run { upstream in
      let key = try JWK(pem: upstream.server.clientKeyPEM)
      let now = upstream.clock.wallNow.secondsSinceEpoch
      func sign(_ subject: String, by client: String = "shop") throws -> JSONValue {
        .string(
          try CompactJWS.sign(
            claims: [
              "iss": .string(client), "sub": .string(subject), "aud": .string(upstream.server.issuer),
              "exp": .integer(now + 60), "jti": .string("\(UInt64.random(in: .min ... .max))"),
            ], with: key, algorithm: .es256))
      }
      let good = try sign("user-1001")
      let response = try await Self.exchange(upstream, good, "jwt", [("scope", "profile")])
      #expect(response.status == 200, "\(response.text)")
      #expect(try await upstream.claims(response.json["access_token"]).claims["sub"] == "user-1001")
      for bad in [good, try sign("unknown"), try sign("user-1001", by: "jwtclient")] {
        #expect(try await Self.exchange(upstream, bad, "jwt").json["error"] == "invalid_request")
      }
      let wanting = try await Self.exchange(upstream, try sign("user-1001"), "jwt", [("scope", "openid")])
      #expect(wanting.json["error"] == "invalid_scope")
    }
  }
}
