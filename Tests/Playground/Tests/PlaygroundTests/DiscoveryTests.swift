import Playground
import PosternJSON
import PosternSupport
import Testing

@Suite struct DiscoveryTests {
  @Test(
    "Each form of the metadata path serves the issuer's document; a missing form would strand clients that know only that one",
    arguments: [
      "/oidc/.well-known/openid-configuration",
      "/.well-known/openid-configuration/oidc",
      "/.well-known/oauth-authorization-server/oidc",
    ])
  func metadata(path: String) async throws {
    try await Upstream.run { upstream in
      let response = try await upstream.send("GET", path)
      #expect(response.status == 200)
      #expect(response.json["issuer"]?.stringValue == upstream.server.issuer)
      #expect(response.json["token_endpoint"]?.stringValue == upstream.server.issuer + "/token")
      #expect(response.json["jwks_uri"]?.stringValue == upstream.server.issuer + "/jwks")
      #expect(response.json["authorization_response_iss_parameter_supported"] == true)
      #expect(response.json["code_challenge_methods_supported"] == ["S256"])
      #expect(response.json["grant_types_supported"]?.arrayValue?.count == 6)
    }
  }

  @Test("Every endpoint that the metadata names is there: a document that promises too much would strand clients")
  func endpoints() async throws {
    try await Upstream.run { upstream in
      let metadata = try await upstream.send("GET", "/oidc/.well-known/openid-configuration").json
      let named = metadata.objectValue?.members.filter { $0.name.hasSuffix("_endpoint") || $0.name == "jwks_uri" } ?? []
      #expect(named.count == 9)
      for member in named {
        let path = try #require(member.value.stringValue?.dropFirst(upstream.server.baseURL.count))
        #expect(try await upstream.send("DELETE", String(path)).status == 405, "\(member.name)")
      }
    }
  }

  @Test("The key set holds an RSA, an EC and an Ed25519 key, public parts only, under their thumbprints")
  func keySet() async throws {
    try await Upstream.run { upstream in
      let keys = try #require(try await upstream.send("GET", "/oidc/jwks").json["keys"]?.arrayValue)
      #expect(keys.map { $0["kty"]?.stringValue } == ["RSA", "EC", "OKP"])
      #expect(keys.map { $0["alg"]?.stringValue } == ["RS256", "ES256", "EdDSA"])
      for key in keys {
        #expect(key["kid"]?.stringValue.flatMap { Base64URL.decode($0) }?.count == 32)
        #expect(key["use"] == "sig")
        for secret in ["d", "p", "q", "dp", "dq", "qi"] { #expect(key[secret] == nil) }
      }
      #expect(keys[0]["n"]?.stringValue.flatMap { Base64URL.decode($0) }?.count == 256)
      #expect(keys[1]["crv"] == "P-256")
    }
  }

  @Test("An unchanged key set answers 304 to its entity tag, a rotated one does not")
  func entityTag() async throws {
    try await Upstream.run { upstream in
      let first = try await upstream.send("GET", "/oidc/jwks")
      let tag = try #require(first["etag"].first)
      #expect(try await upstream.send("GET", "/oidc/jwks", [("If-None-Match", tag)]).status == 304)
      _ = try await upstream.send("POST", "/playground/rotateKeys")
      #expect(try await upstream.send("GET", "/oidc/jwks", [("If-None-Match", tag)]).status == 200)
    }
  }

  @Test("Rotation signs with a new key; old tokens stay good only while the old key is kept", arguments: [true, false])
  func rotation(keep: Bool) async throws {
    try await Upstream.run { upstream in
      let old = try await upstream.token()
      let response = try await upstream.send("POST", "/playground/rotateKeys?keep=\(keep)")
      #expect(response.json["kids"]?.arrayValue?.count == (keep ? 6 : 3))
      let new = try await upstream.token()
      #expect(old.prefix { $0 != "." } != new.prefix { $0 != "." })
      #expect(try await upstream.send("GET", "/resource/orders", bearer: new).status == 200)
      #expect(try await upstream.send("GET", "/resource/orders", bearer: old).status == (keep ? 200 : 401))
    }
  }
}
