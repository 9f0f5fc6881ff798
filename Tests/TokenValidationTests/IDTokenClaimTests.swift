import AuthEngine
import EngineTestSupport
import JOSE
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

/// C4: the claims, one wrong at a time.
@Suite struct IDTokenClaimTests {
  private static let now: Int64 = 1_800_000_000

  struct Wrong: Sendable, CustomTestStringConvertible {
    let claim: String
    let value: JSONValue?
    let code: String
    var testDescription: String { "\(claim) = \(value.map { JSONWriter().string($0) } ?? "absent"): \(code)" }
  }

  @Test(
    "one wrong claim is reported by its own name",
    arguments: [
      Wrong(claim: "iss", value: nil, code: "missing_claim"),
      Wrong(claim: "iss", value: "https://idp.test/", code: "iss_mismatch"),
      Wrong(claim: "iss", value: "https://idp.tes", code: "iss_mismatch"),
      Wrong(claim: "iss", value: "HTTPS://idp.test", code: "iss_mismatch"),
      Wrong(claim: "iss", value: "", code: "iss_mismatch"),
      Wrong(claim: "sub", value: nil, code: "missing_claim"),
      Wrong(claim: "sub", value: "", code: "invalid_claim"),
      Wrong(claim: "sub", value: "ü", code: "invalid_claim"),
      Wrong(claim: "sub", value: .string(String(repeating: "a", count: 256)), code: "invalid_claim"),
      Wrong(claim: "aud", value: nil, code: "missing_claim"),
      Wrong(claim: "aud", value: "shop2", code: "aud_mismatch"),
      Wrong(claim: "aud", value: "", code: "aud_mismatch"),
      Wrong(claim: "aud", value: ["other"], code: "aud_mismatch"),
      Wrong(claim: "aud", value: ["shop", "other"], code: "untrusted_audience"),
      Wrong(claim: "azp", value: "other", code: "azp_mismatch"),
      Wrong(claim: "exp", value: nil, code: "missing_claim"),
      Wrong(claim: "exp", value: .integer(now - 30), code: "token_expired"),
      Wrong(claim: "exp", value: 0, code: "token_expired"),
      Wrong(claim: "exp", value: -1, code: "token_expired"),
      Wrong(claim: "exp", value: .integer(.min), code: "token_expired"),
      Wrong(claim: "exp", value: .real(-1e300), code: "token_expired"),
      Wrong(claim: "nbf", value: .integer(now + 31), code: "token_not_yet_valid"),
      Wrong(claim: "nbf", value: .integer(.max), code: "token_not_yet_valid"),
      Wrong(claim: "iat", value: nil, code: "missing_claim"),
      Wrong(claim: "iat", value: .integer(now + 31), code: "iat_invalid"),
      Wrong(claim: "iat", value: .integer(.max), code: "iat_invalid"),
      Wrong(claim: "nonce", value: nil, code: "missing_nonce"),
      Wrong(claim: "nonce", value: "", code: "nonce_mismatch"),
      Wrong(claim: "nonce", value: "N-1", code: "nonce_mismatch"),
    ])
  func wrong(_ wrong: Wrong) async throws {
    let bench = try TokenBench()
    let fault = try await bench.verdict(on: bench.token([wrong.claim: wrong.value])).fault
    #expect(fault?.code.rawValue == wrong.code)
    #expect(fault?.claim == wrong.claim)
  }

  @Test(
    "what is unusual but right is accepted",
    arguments: [
      ("aud", ["shop"]), ("azp", "shop"), ("exp", .real(1_800_000_000.5)),
      ("exp", .integer(.max)), ("exp", .real(1e300)), ("nbf", .integer(now + 30)), ("nbf", 0),
      ("iat", .integer(now + 30)),
      ("iat", 0), ("sub", .string(String(repeating: "a", count: 255))), ("rat", "anything"), ("auth_time", nil),
    ] as [(String, JSONValue?)])
  func unusual(claim: String, value: JSONValue?) async throws {
    let bench = try TokenBench()
    #expect(try await bench.code(of: bench.token([claim: value])) == nil)
  }

  @Test("exp is judged to the millisecond, skew included")
  func expiryEdge() async throws {
    var bench = try TokenBench()
    bench.configuration.clockSkew = .zero
    let token = try bench.token(["exp": .integer(bench.now + 1)])
    bench.clock.advance(by: .milliseconds(999))
    #expect(try await bench.code(of: token) == nil)
    bench.clock.advance(by: .milliseconds(1))
    #expect(try await bench.code(of: token) == "token_expired")
    bench.expectations.clockSkew = .milliseconds(1)
    #expect(try await bench.code(of: token) == nil)
  }

  @Test("a clock skew beyond 300 s or below zero is not granted")
  func skewBounds() async throws {
    var bench = try TokenBench()
    bench.expectations.clockSkew = .seconds(86_400)
    #expect(try await bench.code(of: bench.token(["exp": .integer(bench.now - 299), "iat": 0])) == nil)
    #expect(try await bench.code(of: bench.token(["exp": .integer(bench.now - 300), "iat": 0])) == "token_expired")
    bench.expectations.clockSkew = .seconds(-60)
    #expect(try await bench.code(of: bench.token(["exp": .integer(bench.now + 1)])) == nil)
  }

  @Test("a token that expires before it was issued is nonsense, whatever the skew hides")
  func issuedAfterExpiry() async throws {
    let bench = try TokenBench()
    let token = try bench.token(["exp": .integer(bench.now + 5), "iat": .integer(bench.now + 5)])
    #expect(try await bench.code(of: token) == "iat_invalid")
  }

  @Test("an old token is invalid where an age is configured")
  func tokenAge() async throws {
    var bench = try TokenBench()
    let token = try bench.token(["iat": .integer(bench.now - 700)])
    #expect(try await bench.code(of: token) == nil)
    bench.configuration.maximumTokenAge = .seconds(600)
    #expect(try await bench.code(of: token) == "token_too_old")
  }

  @Test("the caller's own time decides where it is given")
  func callerClock() async throws {
    var bench = try TokenBench()
    let token = try bench.token()
    bench.expectations.now = Timestamp(secondsSinceEpoch: bench.now + 331)
    #expect(try await bench.code(of: token) == "token_expired")
    bench.expectations.now = Timestamp(secondsSinceEpoch: bench.now - 100)
    #expect(try await bench.code(of: token) == "iat_invalid")
    bench.expectations.now = Timestamp(millisecondsSinceEpoch: .max)
    #expect(try await bench.code(of: token) == "token_expired")
    bench.expectations.now = Timestamp(millisecondsSinceEpoch: .min)
    #expect(try await bench.code(of: token) != nil)
  }

  @Test("a trusted audience may be added to the client, but not replace it")
  func trustedAudiences() async throws {
    var bench = try TokenBench()
    bench.configuration.trustedAudiences = ["api"]
    #expect(try await bench.code(of: bench.token(["aud": ["api", "shop"]])) == nil)
    #expect(try await bench.code(of: bench.token(["aud": ["api", "shop", "x"]])) == "untrusted_audience")
    #expect(try await bench.code(of: bench.token(["aud": "api"])) == "aud_mismatch")
    bench.expectations.trustedAudiences = []
    #expect(try await bench.code(of: bench.token(["aud": ["api", "shop"]])) == "untrusted_audience")
  }

  @Test("azp is required only where that is configured and the token has several audiences")
  func authorizedParty() async throws {
    var bench = try TokenBench()
    bench.configuration.trustedAudiences = ["api"]
    bench.configuration.requiresAuthorizedParty = true
    #expect(try await bench.code(of: bench.token()) == nil)
    #expect(try await bench.code(of: bench.token(["aud": ["shop", "api"]])) == "azp_mismatch")
    #expect(try await bench.code(of: bench.token(["aud": ["shop", "api"], "azp": "shop"])) == nil)
    bench.expectations.requiresAuthorizedParty = false
    #expect(try await bench.code(of: bench.token(["aud": ["shop", "api"]])) == nil)
  }

  @Test("identifiers are bytes: canonical equivalents are other identifiers")
  func bytes() async throws {
    var bench = try TokenBench()
    bench.expectations.nonce = "e\u{301}"
    #expect(try await bench.code(of: bench.token(["nonce": "\u{E9}"])) == "nonce_mismatch")
    bench.expectations.nonce = "n-1"
    bench.expectations.clientID = "\u{212A}"
    #expect(try await bench.code(of: bench.token(["aud": "K"])) == "aud_mismatch")
  }

  @Test(
    "a nonce that was not requested is accepted in the code flow, and needed in the others",
    arguments: [
      (TokenFlow.code, nil), (.implicit, "nonce_mismatch"), (.hybrid(), "nonce_mismatch"),
    ] as [(TokenFlow, String?)])
  func nonce(flow: TokenFlow, code: String?) async throws {
    var bench = try TokenBench()
    bench.expectations.nonce = nil
    bench.expectations.flow = flow
    #expect(try await bench.code(of: bench.token(["c_hash": "x"])) == code)
    #expect(try await bench.code(of: bench.token(["nonce": nil, "c_hash": "x"])) == code.map { _ in "missing_nonce" })
  }

  @Test("a nonce that was not requested is accepted although it is to be rejected, or at a refresh rejected")
  func unexpectedNonce() async throws {
    var bench = try TokenBench()
    let previous = try bench.token()
    bench.expectations.nonce = nil
    bench.configuration.rejectsUnexpectedNonce = true
    #expect(try await bench.code(of: previous) == "nonce_mismatch")
    #expect(try await bench.code(of: bench.token(["nonce": nil])) == nil)
    bench.expectations.flow = .refresh(previous: previous)
    #expect(try await bench.code(of: previous) == nil)
    bench.expectations.flow = .code
    bench.expectations.rejectsUnexpectedNonce = false
    #expect(try await bench.code(of: previous) == nil)
    bench.configuration.rejectsUnexpectedNonce = false
    bench.expectations.rejectsUnexpectedNonce = true
    #expect(try await bench.code(of: previous) == "nonce_mismatch")
  }

  @Test("an empty nonce is a nonce: it is not met by a token without one")
  func emptyNonce() async throws {
    var bench = try TokenBench()
    bench.expectations.nonce = ""
    #expect(try await bench.code(of: bench.token(["nonce": nil])) == "missing_nonce")
  }

  @Test("maxAge needs auth_time and is judged by it")
  func maxAge() async throws {
    var bench = try TokenBench()
    bench.expectations.maxAge = .seconds(60)
    #expect(try await bench.code(of: bench.token()) == nil)
    #expect(try await bench.code(of: bench.token(["auth_time": .integer(bench.now - 91)])) == "auth_too_old")
    let fault = try await bench.verdict(on: bench.token(["auth_time": nil])).fault
    #expect(fault == TokenFault(.missingClaim, "", claim: "auth_time"))
    bench.expectations.maxAge = .seconds(Int64.max)
    #expect(try await bench.code(of: bench.token(["auth_time": 0])) == nil)
  }

  @Test("acr must be one of the requested values")
  func acr() async throws {
    var bench = try TokenBench()
    bench.expectations.acrValues = ["gold", "silver"]
    #expect(try await bench.code(of: bench.token(["acr": "silver"])) == nil)
    #expect(try await bench.code(of: bench.token(["acr": "bronze"])) == "acr_mismatch")
    #expect(try await bench.code(of: bench.token(["acr": "gold silver"])) == "acr_mismatch")
    #expect(try await bench.code(of: bench.token()) == "acr_mismatch")
  }

  @Test("no fault shows a nonce, a subject or a hash, and none is longer than a line")
  func leaks() async throws {
    var bench = try TokenBench()
    bench.expectations.nonce = "expected-nonce"
    bench.expectations.flow = .hybrid()
    bench.expectations.authorizationCode = Secret("the-code")
    bench.expectations.accessToken = Secret("the-token")
    let tokens = try [
      bench.token(), bench.token(["nonce": "expected-nonce", "at_hash": "hash-1", "c_hash": "hash-2"]),
      bench.token(["nonce": "expected-nonce"]), bench.token(["sub": "ü"]),
      bench.token(["aud": .array((0..<1000).map { .string("\($0)") })]),
      bench.token(["iss": .string(String(repeating: "x", count: 9999))]),
    ]
    for token in tokens {
      let fault = try #require(try await bench.verdict(on: token).fault)
      var text = ""
      dump(fault, to: &text)
      for secret in ["expected-nonce", "n-1", "the-code", "the-token", "hash-", "user-1"] {
        #expect(!text.contains(secret))
      }
      #expect(text.utf8.count < 2000)
    }
  }

  @Test(
    "the short form has another rule for c_hash than the method: required in the hybrid flow, else compared where it is there"
  )
  func seedShape() async throws {
    let bench = try TokenBench()
    let code = "Qcb0Orv1zh30vL1MPRsbm-diHiMwcLyZvn1arpZv-Jxf_11jnpEX3Tgfvk"
    func fault(_ token: String, _ code: String?, _ flow: TokenFlow = .code) async throws -> String? {
      let short = try await bench.validator.validate(
        idTokenString: token, authorizationCode: code, clientID: "shop", nonce: "n-1", flow: flow, keys: bench.source,
        configuration: bench.configuration
      ).fault?.code.rawValue
      let method = try await bench.validator.validate(
        token,
        expecting: IDTokenExpectations(
          clientID: "shop", nonce: "n-1", authorizationCode: code.map { Secret($0) }, flow: flow),
        configuration: bench.configuration, keys: bench.source
      ).fault?.code.rawValue
      #expect(short == method)
      return short
    }
    let hash: KeyValuePairs<String, JSONValue?> = ["c_hash": "LDktKdoQak3Pk0cnXxCltA"]
    for flow in [TokenFlow.code, .hybrid()] {
      #expect(try await fault(bench.token(hash), code, flow) == nil)
      #expect(try await fault(bench.token(hash), code + "x", flow) == "c_hash_mismatch")
    }
    #expect(try await fault(bench.token(), code) == nil)
    #expect(try await fault(bench.token(), code, .hybrid()) == "missing_claim")
    #expect(try await fault(bench.token(), nil) == nil)
    #expect(try await fault(bench.token(), nil, .hybrid()) == "missing_claim")
  }
}

/// `azp` of another client.
@Suite struct AuthorizedPartyTests {
  @Test(
    "a token that another client requested is valid without being trusted, or invalid although it is",
    arguments: [
      ("android", ["android"], [], true), ("android", [], ["android"], true), ("android", ["ios"], ["ios"], false),
      ("Android", ["android"], [], false), ("shop", ["android"], [], true),
    ] as [(String, [String], [String], Bool)])
  func trusted(party: String, parties: [String], audiences: [String], isValid: Bool) async throws {
    var bench = try TokenBench()
    bench.configuration.trustedAuthorizedParties = parties
    bench.configuration.trustedAudiences = audiences
    for (claim, code) in [("azp", "azp_mismatch"), ("client_id", "client_id_mismatch")] {
      let fault = try await bench.code(of: bench.token([claim: .string(party)]))
      #expect(fault == (isValid ? nil : code))
    }
  }

  @Test(
    "a client of another project is trusted at Google",
    arguments: [
      ("123-b.apps.googleusercontent.com", true), ("1234-b.apps.googleusercontent.com", false),
      ("123-b.apps.example.com", false), ("-b.apps.googleusercontent.com", false), ("123", false),
    ])
  func project(party: String, isValid: Bool) async throws {
    var bench = try TokenBench()
    let client = "123-a.apps.googleusercontent.com"
    bench.expectations = IDTokenExpectations(clientID: client)
    let token = try bench.token(["aud": .string(client), "azp": .string(party), "nonce": nil])
    #expect(try await bench.code(of: token) == "azp_mismatch")
    bench.configuration.trustsProject = true
    #expect(try await bench.code(of: token) == (isValid ? nil : "azp_mismatch"))
  }

  @Test("a token with another name of the issuer is invalid although the name is configured")
  func names() async throws {
    var bench = try TokenBench()
    let token = try bench.token(["iss": "idp.test"])
    #expect(try await bench.code(of: token) == "iss_mismatch")
    bench.configuration.otherIssuers = ["idp.test"]
    #expect(try await bench.code(of: token) == nil)
  }
}
