import JOSE
import PlaygroundTestSupport
import PosternCrypto
import PosternJSON
import PosternSupport
import Testing

@testable import Playground

@Suite struct DPoPTests {
  /// A client's key, and the proofs it makes.
  struct Prover: Sendable {
    let key: JWK
    let algorithm: SignatureAlgorithm

    init(_ algorithm: SignatureAlgorithm = .es256) throws {
      self.algorithm = algorithm
      key = try AssertionTests.key(algorithm)
    }

    var thumbprint: String { key.thumbprint ?? "" }

    /// A proof; null in `changes` leaves a claim out.
    func proof(
      _ upstream: Upstream, _ method: String, _ path: String, token: JSONValue? = nil, changes: JSONObject = [:],
      header: JSONObject = [:]
    ) throws -> (String, String) {
      var claims: JSONObject = [
        "htm": .string(method), "htu": .string("http://localhost" + path),
        "iat": .integer(upstream.clock.wallNow.secondsSinceEpoch),
        "jti": .string("\(UInt64.random(in: .min ... .max))"),
      ]
      claims["ath"] = token?.stringValue.map {
        .string(Base64URL.string(HashFunction.sha256.hash(Array($0.utf8))))
      }
      claims.replace(with: changes)
      var parameters: JSONObject = ["typ": "dpop+jwt", "jwk": .object(key.publicJSON() ?? [:])]
      parameters.replace(with: header)
      return ("DPoP", try CompactJWS.sign(claims: claims, with: key, algorithm: algorithm, header: parameters))
    }

    /// A whole sign-in with proofs.
    func tokens(_ upstream: Upstream, _ client: String = "dpopclient") async throws -> JSONValue {
      let response = try await upstream.redeem(
        try await upstream.code(client), client, [:], [try proof(upstream, "POST", "/oidc/token")])
      #expect(response.status == 200, "\(response.text)")
      return response.json
    }

    /// A request to the resource server.
    func call(
      _ upstream: Upstream, _ token: JSONValue?, _ path: String = "/resource/orders", changes: JSONObject = [:]
    ) async throws -> RawHTTP.Response {
      let field = ("Authorization", "DPoP " + (token?.stringValue ?? ""))
      let target = String(path.prefix { $0 != "?" })
      return try await upstream.send(
        "GET", path, [field, try proof(upstream, "GET", target, token: token, changes: changes)])
    }
  }

  @Test(
    "Tokens issued with a proof are bound to its key, say so, and open the resource with further proofs",
    arguments: [.es256, .edDSA, .ps256] as [SignatureAlgorithm])
  func bound(algorithm: SignatureAlgorithm) async throws {
    try await Upstream.run { upstream in
      let prover = try Prover(algorithm)
      let tokens = try await prover.tokens(upstream)
      #expect(tokens["token_type"] == "DPoP")
      let claims = try await upstream.claims(tokens["access_token"]).claims
      #expect(claims["cnf"] == ["jkt": .string(prover.thumbprint)])
      #expect(try await prover.call(upstream, tokens["access_token"], "/resource/echo?x=1").status == 200)
      #expect(try await prover.call(upstream, tokens["access_token"], "/oidc/userinfo").json["sub"] == "user-1001")
      let text = try #require(tokens["access_token"]?.stringValue)
      let introspected = try await upstream.call("/oidc/introspect", [("token", text)])
      #expect(introspected.json["token_type"] == "DPoP")
      #expect(introspected.json["cnf"] == claims["cnf"])
    }
  }

  @Test(
    "A bound token as Bearer, an unbound one as DPoP, and a proof by another key are rejected with the right challenge")
  func schemes() async throws {
    try await Upstream.run { upstream in
      let prover = try Prover()
      let bound = try await prover.tokens(upstream)["access_token"]
      let asBearer = try await upstream.send("GET", "/resource/orders", bearer: try #require(bound?.stringValue))
      #expect(asBearer.status == 401)
      #expect(asBearer["www-authenticate"].count == 2)
      #expect(asBearer["www-authenticate"].last?.hasPrefix("DPoP algs=\"ES256 ") == true)
      let unbound = try await prover.call(upstream, .string(try await upstream.token()))
      #expect(unbound.status == 401)
      #expect(unbound["www-authenticate"].first?.hasPrefix("DPoP ") == true)
      let stranger = try await Prover().call(upstream, bound)
      #expect(stranger["www-authenticate"].first?.contains(#"error="invalid_token""#) == true)
      let field = ("Authorization", "DPoP " + (bound?.stringValue ?? ""))
      let without = try await upstream.send("GET", "/resource/orders", [field])
      #expect(without["www-authenticate"].first?.contains(#"error="invalid_dpop_proof""#) == true)
      #expect(without["www-authenticate"].first?.contains("algs=") == true)
    }
  }

  /// Changes to claims and header of a proof that spoil it.
  static let defects: [(JSONObject, JSONObject)] = [
    (["htm": "GET"], [:]), (["htm": "post"], [:]), (["htm": nil], [:]), (["htu": "http://localhost/oidc/token2"], [:]),
    (["htu": "http://localhost/oidc/token?x"], [:]), (["htu": "http://localhost/oidc/token#x"], [:]),
    (["htu": "https://localhost/oidc/token"], [:]), (["htu": "http://other/oidc/token"], [:]),
    (["htu": "/oidc/token"], [:]),
    (["htu": nil], [:]), (["iat": 1_799_999_939], [:]), (["iat": 1_800_000_011], [:]), (["iat": nil], [:]),
    (["iat": "now"], [:]), (["iat": 9_223_372_036_854_775_807], [:]), (["jti": nil], [:]), (["jti": ""], [:]),
    (["jti": .string(String(repeating: "j", count: 257))], [:]), ([:], ["typ": "JWT"]), ([:], ["typ": nil]),
    ([:], ["jwk": nil]), ([:], ["jwk": "x"]),
    ([:], ["jwk": ["kty": "oct", "k": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"]]),
  ]

  @Test("A proof that differs in any one point is rejected (RFC 9449 section 4.3)", arguments: defects)
  func defect(claims: JSONObject, header: JSONObject) async throws {
    try await Upstream.run { upstream in
      let prover = try Prover()
      let proof = try prover.proof(upstream, "POST", "/oidc/token", changes: claims, header: header)
      let response = try await upstream.tokenRequest([("grant_type", "client_credentials")], "svc", [proof])
      #expect(response.status == 400)
      #expect(response.json["error"] == "invalid_dpop_proof")
      #expect(try await upstream.counter("dpopProofsRejected") == 1)
    }
  }

  @Test("Spellings of the same address, and times within the window, are as good")
  func spellings() async throws {
    try await Upstream.run { upstream in
      let prover = try Prover()
      for changes in [
        ["htu": "HTTP://LOCALHOST:80/oidc/%74oken"], ["iat": 1_799_999_940], ["iat": 1_800_000_010],
      ] as [JSONObject] {
        let proof = try prover.proof(upstream, "POST", "/oidc/token", changes: changes)
        #expect(try await upstream.tokenRequest([("grant_type", "client_credentials")], "svc", [proof]).status == 200)
      }
    }
  }

  @Test("A proof is good once, two at a time never, one with a private key or a foreign signature never")
  func replay() async throws {
    try await Upstream.run { upstream in
      let prover = try Prover()
      let form = [("grant_type", "client_credentials")]
      let proof = try prover.proof(upstream, "POST", "/oidc/token")
      #expect(try await upstream.tokenRequest(form, "svc", [proof]).status == 200)
      #expect(try await upstream.tokenRequest(form, "svc", [proof]).status == 400)
      let two = [try prover.proof(upstream, "POST", "/oidc/token"), try prover.proof(upstream, "POST", "/oidc/token")]
      #expect(try await upstream.tokenRequest(form, "svc", two).status == 400)
      let secret = try prover.key.privateJSONRevealingSecrets()
      let careless = try prover.proof(upstream, "POST", "/oidc/token", header: ["jwk": .object(secret)])
      #expect(try await upstream.tokenRequest(form, "svc", [careless]).status == 400)
      let other = try #require(try Prover().key.publicJSON())
      let foreign = try prover.proof(upstream, "POST", "/oidc/token", header: ["jwk": .object(other)])
      #expect(try await upstream.tokenRequest(form, "svc", [foreign]).status == 400)
      #expect(try await upstream.tokenRequest(form, "svc", [("DPoP", "x")]).status == 400)
    }
  }

  @Test("At the resource server a proof must name the token (ath), and is good once")
  func tokenHash() async throws {
    try await Upstream.run { upstream in
      let prover = try Prover()
      let token = try await prover.tokens(upstream)["access_token"]
      #expect(try await prover.call(upstream, token, changes: ["ath": nil]).status == 401)
      #expect(try await prover.call(upstream, token, changes: ["ath": "AAAA"]).status == 401)
      #expect(try await prover.call(upstream, token, changes: ["jti": "same"]).status == 200)
      #expect(try await prover.call(upstream, token, changes: ["jti": "same"]).status == 401)
    }
  }

  @Test("The refresh token of a public client is bound to the key, that of a confidential one is not (section 5)")
  func refresh() async throws {
    try await Upstream.run { upstream in
      let prover = try Prover()
      let other = try Prover()
      let token = try await prover.tokens(upstream)["refresh_token"]
      let stranger = [try other.proof(upstream, "POST", "/oidc/token")]
      #expect(try await upstream.refresh(token, "dpopclient", [], stranger).json["error"] == "invalid_grant")
      #expect(try await upstream.refresh(token, "dpopclient").json["error"] == "invalid_dpop_proof")
      let own = [try prover.proof(upstream, "POST", "/oidc/token")]
      #expect(try await upstream.refresh(token, "dpopclient", [], own).json["token_type"] == "DPoP")
      let confidential = try await prover.tokens(upstream, "shop")["refresh_token"]
      let moved = try await upstream.refresh(
        confidential, "shop", [], [try other.proof(upstream, "POST", "/oidc/token")])
      #expect(
        try await upstream.claims(moved.json["access_token"]).claims["cnf"]?["jkt"]?.stringValue == other.thumbprint)
    }
  }

  @Test("A code requested with dpop_jkt is valid only with a proof by that key (section 10)")
  func codeBinding() async throws {
    try await Upstream.run { upstream in
      let prover = try Prover()
      let changes: [String: String?] = ["dpop_jkt": prover.thumbprint]
      let stranger = [try Prover().proof(upstream, "POST", "/oidc/token")]
      #expect(try await upstream.redeem(upstream.code("cli", changes), "cli").json["error"] == "invalid_grant")
      let stolen = try await upstream.redeem(upstream.code("cli", changes), "cli", [:], stranger)
      #expect(stolen.json["error"] == "invalid_grant")
      let own = [try prover.proof(upstream, "POST", "/oidc/token")]
      #expect(try await upstream.redeem(upstream.code("cli", changes), "cli", [:], own).status == 200)
    }
  }

  @Test(
    "Where nonces are needed, a proof without the current one gets it in the answer, and nothing is used up (section 8)"
  )
  func providerNonce() async throws {
    try await Upstream.run { upstream in
      _ = try await upstream.control("settings", #"{"providerNonce": true}"#)
      let prover = try Prover()
      let code = try await upstream.code("cli")
      let first = try await upstream.redeem(code, "cli", [:], [try prover.proof(upstream, "POST", "/oidc/token")])
      #expect(first.status == 400)
      #expect(first.json["error"] == "use_dpop_nonce")
      let nonce = try #require(first["dpop-nonce"].first)
      func proof(_ nonce: String) throws -> (String, String) {
        try prover.proof(upstream, "POST", "/oidc/token", changes: ["nonce": .string(nonce)])
      }
      let second = try await upstream.redeem(code, "cli", [:], [try proof(nonce)])
      #expect(second.status == 200, "\(second.text)")
      #expect(second["dpop-nonce"] == [nonce])
      upstream.clock.advance(by: .seconds(60))
      let token = second.json["refresh_token"]
      let third = try await upstream.refresh(token, "cli", [], [try proof(nonce)])
      #expect(third.status == 200)
      #expect(third["dpop-nonce"] != [nonce])
      _ = try await upstream.control("rotateNonces", "{}")
      let fourth = try await upstream.refresh(
        third.json["refresh_token"], "cli", [], [try proof(try #require(third["dpop-nonce"].first))])
      #expect(fourth.json["error"] == "use_dpop_nonce")
      #expect(try await upstream.counter("dpopNonceChallenges") == 2)
    }
  }

  @Test("The resource server has nonces of its own (section 9)")
  func resourceNonce() async throws {
    try await Upstream.run { upstream in
      let prover = try Prover()
      let token = try await prover.tokens(upstream)["access_token"]
      _ = try await upstream.control("settings", #"{"resourceNonce": true}"#)
      let first = try await prover.call(upstream, token)
      #expect(first.status == 401)
      #expect(first["www-authenticate"].first?.contains(#"error="use_dpop_nonce""#) == true)
      let nonce = try #require(first["dpop-nonce"].first)
      let second = try await prover.call(upstream, token, changes: ["nonce": .string(nonce)])
      #expect(second.status == 200)
      #expect(second["dpop-nonce"] == [nonce])
    }
  }
}
