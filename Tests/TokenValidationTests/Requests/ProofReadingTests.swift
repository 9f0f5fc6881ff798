import AuthEngine
import EngineTestSupport
import HTTPMessages
import JOSE
import PosternCrypto
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@testable import TokenValidation

/// Proofs, tokens in requests and nonces, rule by rule (RFC 9449 section 4.3).
@Suite struct ProofReadingTests {
  private static let url = "https://api.test/orders"
  private static let now: Int64 = 1_800_000_000

  private static func proof(
    header: JSONObject = [:], claims: KeyValuePairs<String, JSONValue?> = [:],
    algorithm: SignatureAlgorithm = .es256, jwk: JSONValue? = nil
  ) throws -> String {
    let key = try TokenBench.keys.get().key(for: algorithm)
    var parameters: JSONObject = ["typ": "dpop+jwt"]
    parameters["jwk"] = try jwk ?? .object(#require(JWK(key.material).publicJSON()))
    for member in header.members {
      // `nil` alone would be the value null.
      parameters[member.name] = member.value == .null ? JSONValue?.none : member.value
    }
    var body: JSONObject = [
      "jti": "j-1", "htm": "GET", "htu": .string(url), "iat": .integer(now),
      "ath": "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo",
    ]
    for (name, value) in claims { body[name] = value }
    return try CompactJWS.sign(claims: body, with: JWK(key.material), algorithm: algorithm, header: parameters)
  }

  /// The part of the proof that is wrong; nil where none is.
  private static func fault(
    _ values: [String], method: String = "GET", url: String = ProofReadingTests.url, at now: Timestamp? = nil
  ) throws -> String? {
    let token = Secret("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU")
    let target = try HTTPURL(url)
    do throws(ProofFault) {
      let reading = try ProofReading(values)
      try reading.check(method: method, url: target)
      try reading.check(at: now ?? Timestamp(secondsSinceEpoch: Self.now), ProofRules())
      try reading.check(token: token)
      _ = try reading.verifiedThumbprint()
      return nil
    } catch {
      return error.part
    }
  }

  /// Would catch: a hash of the token or a key's thumbprint that differs from all other implementations'.
  @Test("the RFC's own proof is judged differently")
  func vector() throws {
    let text =
      "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZOXpDa0RscEJoRjQyVVFVZldWQVdCRnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2In19.eyJqdGkiOiJlMWozVl9iS2ljOC1MQUVCIiwiaHRtIjoiR0VUIiwiaHR1IjoiaHR0cHM6Ly9yZXNvdXJjZS5leGFtcGxlLm9yZy9wcm90ZWN0ZWRyZXNvdXJjZSIsImlhdCI6MTU2MjI2MjYxOCwiYXRoIjoiZlVIeU8ycjJaM0RaNTNFc05yV0JiMHhXWG9hTnk1OUlpS0NBcWtzbVFFbyJ9.2oW9RP35yRqzhrtNP86L-Ey71EOptxRimPPToA1plemAgR6pxHF8y6-yqyVnmcw6Fy1dqd-jfxSYoMxhAJpLjA"
    let reading = try ProofReading([text])
    try reading.check(method: "GET", url: HTTPURL("https://resource.example.org/protectedresource"))
    try reading.check(at: Timestamp(secondsSinceEpoch: 1_562_262_619), ProofRules())
    try reading.check(token: Secret("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU"))
    #expect(try reading.verifiedThumbprint() == "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I")
  }

  /// Would catch: two proofs in one field, other kinds of tokens, algorithms that prove nothing.
  @Test("a field or a header that is none of a proof's is accepted")
  func header() throws {
    let good = try Self.proof()
    #expect(try Self.fault([good]) == nil)
    #expect(try Self.fault([good, good]) == "field")
    #expect(try Self.fault(["\(good), \(good)"]) == "field")
    #expect(try Self.fault([""]) == "form")
    #expect(try Self.fault([String(repeating: "a", count: 9000)]) == "form")
    for type in ["JWT", "at+jwt", "application/dpop+jwt"] as [JSONValue] {
      #expect(try Self.fault([Self.proof(header: ["typ": type])]) == "typ")
    }
    #expect(try Self.fault([Self.proof(header: ["typ": .null])]) == "typ")
    #expect(try Self.fault([Self.proof(header: ["typ": "DPOP+JWT"])]) == nil)
    for algorithm in [SignatureAlgorithm.es384, .edDSA, .ed25519, .ps256, .rs256] {
      #expect(try Self.fault([Self.proof(algorithm: algorithm)]) == nil, "\(algorithm)")
    }
    for algorithm in [SignatureAlgorithm.es256k, .es512, .rs512, .ed448] {
      #expect(try Self.fault([Self.proof(algorithm: algorithm)]) == "alg", "\(algorithm)")
    }
    for algorithm in ["none", "NoNe", "HS256", "RS1"] {
      let text = TokenBench.raw(header: #"{"typ":"dpop+jwt","alg":"\#(algorithm)","jwk":{}}"#, payload: "{}")
      #expect(try Self.fault([text]) == "alg", "\(algorithm)")
    }
  }

  /// Would catch: a private key in a proof, a small or a huge one, one that does not fit the algorithm.
  @Test("a key that is none for proofs is accepted")
  func keys() throws {
    let keys = try TokenBench.keys.get()
    var members = try #require(JWK(keys.p256.material).publicJSON())
    members["d"] = "AAAA"
    #expect(try Self.fault([Self.proof(jwk: .object(members))]) == "jwk")
    members["d"] = nil
    let x = members["x"]
    members["x"] = members["y"]
    #expect(try Self.fault([Self.proof(jwk: .object(members))]) == "jwk")
    members["x"] = x
    members["kid"] = "other"
    #expect(try Self.fault([Self.proof(jwk: .object(members))]) == nil)
    #expect(try Self.fault([Self.proof(jwk: "text")]) == "jwk")
    #expect(try Self.fault([Self.proof(jwk: ["kty": "oct", "k": "AAAA"])]) == "jwk")
    let other = try #require(JWK.generateEC(.p256).publicJSON())
    #expect(try Self.fault([Self.proof(jwk: .object(other))]) == "signature")
    let wrongCurve = try #require(JWK(keys.p384.material).publicJSON())
    #expect(try Self.fault([Self.proof(jwk: .object(wrongCurve))]) == "jwk")
    let modulus = JSONValue.string(Base64URL.string([0xC1] + [UInt8](repeating: 0x55, count: 127)))
    #expect(
      try Self.fault([
        Self.proof(algorithm: .rs256, jwk: ["kty": "RSA", "e": "AQAB", "n": modulus])
      ]) == "jwk")
  }

  /// Would catch: a proof for another method or URL, and a good one that is rejected for the spelling of its URL.
  @Test(
    "a proof's method or URL is compared in another way than RFC 3986's",
    arguments: [
      ("https://api.test/orders", "https://api.test/orders?y=2", true),
      ("https://api.test/orders?x=1", "https://api.test/orders", true),
      ("https://api.test/orders#f", "https://api.test/orders?y=2", true),
      ("HTTPS://API.test:443/orders", "https://api.test/orders", true),
      ("https://api.test/%7euser", "https://api.test/~user", true),
      ("https://api.test/a/../b", "https://api.test/b", true),
      ("https://api.test", "https://api.test/", true),
      ("https://other.test/orders", "https://api.test/orders", false),
      ("http://api.test/orders", "https://api.test/orders", false),
      ("https://api.test/orders/", "https://api.test/orders", false),
      ("https://api.test/Orders", "https://api.test/orders", false),
      ("https://api.test/a%2Fb", "https://api.test/a/b", false),
      ("https://api.test//orders", "https://api.test/orders", false),
      ("https://api.test/orders", "https://api.test:8443/orders", false),
      ("https://user@api.test/orders", "https://api.test/orders", false),
      ("/orders", "https://api.test/orders", false),
    ])
  func target(claim: String, url: String, isSame: Bool) throws {
    let proof = try Self.proof(claims: ["htu": .string(claim)])
    #expect(try Self.fault([proof], url: url) == (isSame ? nil : "htu"))
  }

  /// Would catch: methods compared without case, claims of the wrong type, hashes that are padded or missing.
  @Test("a claim that is missing or wrong passes")
  func claims() throws {
    #expect(try Self.fault([Self.proof(claims: ["htm": "get"])]) == "htm")
    #expect(try Self.fault([Self.proof(claims: ["htm": "POST"])]) == "htm")
    #expect(try Self.fault([Self.proof(claims: ["htm": nil])]) == "htm")
    #expect(try Self.fault([Self.proof(claims: ["htu": nil])]) == "htu")
    #expect(try Self.fault([Self.proof(claims: ["jti": nil])]) == "jti")
    #expect(try Self.fault([Self.proof(claims: ["jti": 1])]) == "jti")
    #expect(try Self.fault([Self.proof(claims: ["jti": ""])]) == "jti")
    #expect(try Self.fault([Self.proof(claims: ["ath": nil])]) == "ath")
    #expect(try Self.fault([Self.proof(claims: ["ath": "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo="])]) == "ath")
    #expect(try Self.fault([Self.proof(claims: ["ath": "aUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo"])]) == "ath")
  }

  /// Would catch: a window that is off by one second at either end, and times that are none.
  @Test(
    "a proof is accepted outside its time, or rejected in it",
    arguments: [
      (.integer(1_800_000_000 - 60), true), (.integer(1_800_000_000 - 61), false), (.integer(1_800_000_005), true),
      (.integer(1_800_000_006), false), (.real(1_799_999_999.5), true), ("1800000000", false), (.integer(-1), false),
      (.real(1e300), false), (nil, false),
    ] as [(JSONValue?, Bool)])
  func time(issuedAt: JSONValue?, isAccepted: Bool) throws {
    #expect(try Self.fault([Self.proof(claims: ["iat": issuedAt])]) == (isAccepted ? nil : "iat"))
  }

  /// Would catch: a record that ends before the proof does, which can then be used twice.
  @Test("a proof that was made ahead of time outlives the record of its use")
  func end() throws {
    let reading = try ProofReading([Self.proof(claims: ["iat": .integer(Self.now + 5)])])
    for rules in [ProofRules(), ProofRules(past: .seconds(5)), ProofRules(past: ProofRules.longestPast)] {
      for second in 0..<310 {
        let time = Timestamp(secondsSinceEpoch: Self.now + Int64(second))
        if (try? reading.check(at: time, rules)) != nil { #expect(reading.recordEnd > time) }
      }
    }
  }

  /// Would catch: nonces that are forged, of another API or stale, and good ones that are rejected at a boundary.
  @Test("a nonce is good for too long, too short, or elsewhere")
  func nonces() throws {
    let key = try NonceKey([UInt8](repeating: 7, count: 32))
    let origin = try HTTPURL(Self.url).origin
    let life = Duration.seconds(300)
    let start = Timestamp(secondsSinceEpoch: 1_800_000_000)
    let nonce = key.nonce(for: origin, life: life, at: start)
    #expect(key.nonce(for: origin, life: life, at: start) != nonce)
    #expect(nonce.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C })
    for (later, isGood) in [(0, true), (299, true), (300, true), (599, true), (600, false), (-1, true), (-301, false)] {
      let accepted = key.accepts(nonce, for: origin, life: life, at: start + .seconds(later))
      #expect(accepted == isGood, "\(later)")
    }
    #expect(!key.accepts(nonce, for: try HTTPURL("https://other.test/").origin, life: life, at: start))
    let other = try NonceKey([UInt8](repeating: 8, count: 32))
    #expect(!other.accepts(nonce, for: origin, life: life, at: start))
    for wrong in ["", "a", nonce + "A", String(nonce.dropLast()), nonce.replacing("A", with: "B") + ""]
    where wrong != nonce {
      #expect(!key.accepts(wrong, for: origin, life: life, at: start))
    }
    #expect(throws: StoreError.self) { try NonceKey([1]) }
  }

  struct Shown: Sendable, CustomTestStringConvertible {
    let lines: [String]
    var query: String?
    var code: String?
    var answer: PresentationFault.Answer?
    var testDescription: String { "\(lines) \(query ?? "")" }
  }

  /// Would catch: a token that is found where none may be, and a request whose token is ambiguous.
  @Test(
    "a token is read from another line, or one of two is chosen",
    arguments: [
      Shown(lines: ["Bearer a.b-c_d~e+f/g=="]), Shown(lines: ["bearer  t"]), Shown(lines: ["DPoP t"]),
      Shown(lines: ["Bearer t"], query: "x=access_token&access_tokens=1"),
      Shown(lines: [], code: "token_missing", answer: .challenge),
      Shown(lines: ["Basic x"], code: "token_missing", answer: .challenge),
      Shown(lines: ["Bearer"], code: "token_missing", answer: .challenge),
      Shown(lines: ["Bearer  "], code: "token_missing", answer: .challenge),
      Shown(lines: ["Bearert"], code: "token_missing", answer: .challenge),
      Shown(lines: [], query: "access_token=t", code: "token_missing", answer: .challenge),
      Shown(lines: ["Bearer t"], query: "a=b&access_token=t", code: "token_repeated", answer: .malformed),
      Shown(lines: ["Bearer t"], query: "acces%73%5ftoken=t", code: "token_repeated", answer: .malformed),
      Shown(lines: ["Bearer t"], query: "a|{}=%zz&%"),
      Shown(lines: ["Bearer t"], query: "access_token", code: "token_repeated", answer: .malformed),
      Shown(lines: ["Bearer a", "Bearer b"], code: "token_repeated", answer: .malformed),
      Shown(lines: ["Bearer a, Bearer b"], code: "token_repeated", answer: .malformed),
      Shown(lines: ["Bearer a b"], code: "malformed_token", answer: .malformed),
      Shown(lines: ["Bearer \u{E9}"], code: "malformed_token", answer: .malformed),
      Shown(lines: ["Bearer ="], code: "malformed_token", answer: .malformed),
      Shown(
        lines: ["Bearer " + String(repeating: "a", count: 16385)], code: "token_too_large", answer: .invalid),
    ])
  func presentation(_ shown: Shown) {
    let fields = HTTPFields(shown.lines.map { HTTPFields.Field(name: "authorization", value: $0) })
    do throws(PresentationFault) {
      _ = try TokenPresentation(fields, query: shown.query)
      #expect(shown.code == nil)
    } catch {
      #expect(error.fault.code.rawValue == shown.code)
      #expect(error.answer == shown.answer)
    }
  }

  /// Would catch: a document at another URL than clients compute, or members that say what is not so.
  @Test("an API's metadata is at another URL, or has other members than RFC 9728's")
  func metadata() throws {
    let location = { try ProtectedResourceMetadata.location(of: HTTPURL($0)) }
    #expect(try location("https://api.test") == "https://api.test/.well-known/oauth-protected-resource")
    #expect(try location("https://api.test/api/v1") == "https://api.test/.well-known/oauth-protected-resource/api/v1")
    let document = ProtectedResourceMetadata(
      resource: "https://api.test/api/v1", authorizationServers: ["https://idp.test"], dpop: .required
    ).document
    #expect(document["resource"] == "https://api.test/api/v1")
    #expect(document["scopes_supported"] == nil)
    #expect(document["bearer_methods_supported"] == ["header"])
    #expect(document["dpop_bound_access_tokens_required"] == true)
  }
}
