import JOSE
import PlaygroundTestSupport
import PosternCrypto
import PosternJSON
import PosternSupport
import Testing

@testable import Playground

@Suite struct AssertionTests {
  static let algorithms: [SignatureAlgorithm] = [
    .rs256, .rs384, .rs512, .ps256, .ps384, .ps512, .es256, .es384, .es512, .edDSA,
  ]
  private static let rsa = Result { try JWK.generateRSA() }
  private static let clientType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

  static func key(_ algorithm: SignatureAlgorithm) throws -> JWK {
    switch algorithm {
    case .es256: try .generateEC(.p256)
    case .es384: try .generateEC(.p384)
    case .es512: try .generateEC(.p521)
    case .edDSA: try .generateEdwards(.ed25519)
    default: try rsa.get()
    }
  }

  private static func claims(_ upstream: Upstream, _ changes: JSONObject = [:]) -> JSONObject {
    let now = upstream.clock.wallNow.secondsSinceEpoch
    var claims: JSONObject = [
      "iss": "jwtclient", "sub": "jwtclient", "aud": .string(upstream.server.issuer), "iat": .integer(now),
      "exp": .integer(now + 60), "jti": .string("\(UInt64.random(in: .min ... .max))"),
    ]
    claims.replace(with: changes)
    return claims
  }

  private static func post(_ upstream: Upstream, _ assertion: String) async throws -> RawHTTP.Response {
    try await upstream.tokenRequest(
      [
        ("grant_type", "client_credentials"), ("client_assertion_type", clientType), ("client_assertion", assertion),
      ], "")
  }

  @Test("private_key_jwt works with each algorithm of a registered key, once for each assertion", arguments: algorithms)
  func each(algorithm: SignatureAlgorithm) async throws {
    let key = try Self.key(algorithm)
    var client = try #require(PlaygroundClient.defaults.first { $0.id == "jwtclient" })
    client.keySet = JSONWriter().string(.object(JWKSet([key]).publicJSON()))
    try await Upstream.run(PlaygroundConfiguration(clients: [client])) { upstream in
      let assertion = try CompactJWS.sign(claims: Self.claims(upstream), with: key, algorithm: algorithm)
      #expect(try await Self.post(upstream, assertion).status == 200)
      let again = try await Self.post(upstream, assertion)
      #expect(again.status == 401)
      #expect(again.json["error"] == "invalid_client")
    }
  }

  /// Changes to the claims, and whether they are still good. Times are relative to now.
  static let variants: [(JSONObject, Bool)] = [
    ([:], true), (["aud": ["$issuer"]], true), (["aud": "$issuer/token"], true), (["aud": "$issuer/par"], true),
    (["iat": nil], true), (["aud": "https://other.example"], false),
    (["aud": ["$issuer", "https://other.example"]], false), (["aud": nil], false), (["aud": []], false),
    (["sub": "shop"], false), (["iss": "shop"], false), (["iss": nil], false), (["jti": nil], false),
    (["jti": ""], false), (["exp": nil], false), (["exp": 1_800_000_000], false), (["exp": 1_800_000_601], false),
    (["exp": 1_800_000_600], true), (["nbf": 1_800_000_011], false), (["iat": 1_800_000_011], false),
    (["iat": 1_800_000_010], true), (["exp": "soon"], false),
  ]

  @Test("An assertion must have exactly the claims of RFC 7523 section 3", arguments: variants)
  func claims(changes: JSONObject, isGood: Bool) async throws {
    try await Upstream.run { upstream in
      let key = try JWK(pem: upstream.server.clientKeyPEM)
      let text = JSONWriter().string(.object(changes)).split(separator: "$issuer", omittingEmptySubsequences: false)
      let changes = try #require(JSONParser().parse(text.joined(separator: upstream.server.issuer)).objectValue)
      let assertion = try CompactJWS.sign(claims: Self.claims(upstream, changes), with: key, algorithm: .es256)
      let response = try await Self.post(upstream, assertion)
      #expect(response.status == (isGood ? 200 : 401), "\(response.text)")
    }
  }

  @Test("Another key, a key in the header, a MAC, another type of token or of assertion, and two methods are rejected")
  func forgeries() async throws {
    try await Upstream.run { upstream in
      let key = try JWK(pem: upstream.server.clientKeyPEM)
      let other = try JWK.generateEC(.p256)
      let claims = Self.claims(upstream)
      let embedded: JSONObject = ["jwk": .object(try #require(other.publicJSON()))]
      let hmac = JWK.symmetric([UInt8](repeating: 1, count: 32))
      for assertion in [
        try CompactJWS.sign(claims: claims, with: other, algorithm: .es256),
        try CompactJWS.sign(claims: claims, with: other, algorithm: .es256, header: embedded),
        try CompactJWS.sign(claims: claims, with: key, algorithm: .es256, header: embedded),
        try CompactJWS.sign(claims: claims, with: hmac, algorithm: .hs256),
        try CompactJWS.sign(claims: claims, with: key, algorithm: .es256, header: ["typ": "dpop+jwt"]),
        try CompactJWS.sign(claims: claims, with: key, algorithm: .es256, header: ["typ": "authorization-grant+jwt"]),
        try CompactJWS.sign(claims: claims, with: key, algorithm: .es256, header: ["kid": "unknown"]),
        "e30.e30.e30", "",
      ] {
        #expect(try await Self.post(upstream, assertion).status == 401)
      }
      let good = try CompactJWS.sign(
        claims: claims, with: key, algorithm: .es256, header: ["typ": "client-authentication+jwt"])
      let form = [("grant_type", "client_credentials"), ("client_assertion", good)]
      let saml = form + [("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:saml2-bearer")]
      for wrong in [form, saml, saml + [("client_secret", "x")]] {
        #expect(try await upstream.tokenRequest(wrong, "").json["error"] == "invalid_request")
      }
      let typed = form + [("client_assertion_type", Self.clientType)]
      #expect(try await upstream.tokenRequest(typed + [("client_id", "shop")], "").json["error"] == "invalid_request")
      #expect(try await upstream.tokenRequest(typed + [("client_id", "jwtclient")], "").status == 200)
      let clients = try await upstream.send("GET", "/playground/statistics").json["clients"]
      #expect(clients?["jwtclient"]?["private_key_jwt"] != nil)
    }
  }

  private static func bearer(_ upstream: Upstream, _ changes: JSONObject) async throws -> RawHTTP.Response {
    let key = try JWK(pem: upstream.server.clientKeyPEM)
    let assertion = try CompactJWS.sign(claims: claims(upstream, changes), with: key, algorithm: .es256)
    return try await upstream.tokenRequest([
      ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"), ("assertion", assertion), ("scope", "orders"),
    ])
  }

  @Test("The jwt-bearer grant gives a token about the assertion's user or issuer only")
  func grant() async throws {
    try await Upstream.run { upstream in
      for (subject, expected) in [("alice", "user-1001"), ("user-1002", "user-1002"), ("jwtclient", "jwtclient")] {
        let response = try await Self.bearer(upstream, ["sub": .string(subject)])
        #expect(response.json["refresh_token"] == nil)
        let claims = try await upstream.claims(response.json["access_token"]).claims
        #expect(claims["sub"]?.stringValue == expected)
        #expect(claims["client_id"] == "shop")
      }
      for changes in [["sub": "carol"], ["aud": "x"], ["exp": 1], ["iss": "cli"], ["sub": nil]] as [JSONObject] {
        let response = try await Self.bearer(upstream, changes)
        #expect(response.status == 400)
        #expect(response.json["error"] == "invalid_grant")
      }
    }
  }

  @Test("The client key can be fetched as PEM and given to another playground; what is none stops the start")
  func clientKey() async throws {
    try await Upstream.run { upstream in
      let pem = try await upstream.send("GET", "/playground/clientKey").body
      #expect(pem == upstream.server.clientKeyPEM)
      let second = try await PlaygroundServer.start(PlaygroundConfiguration(clientKeyPEM: pem))
      #expect(second.clientKeyPEM == pem)
      await second.stop()
      // The second is a key of X25519, which agrees on secrets and signs nothing.
      let agreement = "MC4CAQAwBQYDK2VuBCIEIEAH9u7x1LOHLFQRTV9AZ5wfbaa4AlWoT+BGGkmntZ1b"
      for wrong in ["nonsense", "-----BEGIN PRIVATE KEY-----\n\(agreement)\n-----END PRIVATE KEY-----\n"] {
        await #expect(throws: PlaygroundError.self) {
          _ = try await PlaygroundServer.start(PlaygroundConfiguration(clientKeyPEM: Array(wrong.utf8)))
        }
      }
    }
  }
}
