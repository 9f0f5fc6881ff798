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

/// Requests that an API has received, with everything below them but sockets.
@Suite struct RequestValidatorTests {
  /// Would catch: a good bearer token that is rejected, or results that lack what the API needs.
  @Test("a bearer token does not pass, or passes without its claims")
  func bearer() async throws {
    let bench = try RequestBench()
    let token = try bench.token()
    guard case .accepted(let first) = try await bench.verdict("Bearer \(token)") else {
      Issue.record("rejected")
      return
    }
    #expect(first.claims["sub"] == "user-1" && first.tokenType == .bearer && first.jkt == nil && !first.isCached)
    guard case .accepted(let second) = try await bench.verdict("bearer \(token)") else { return }
    #expect(second.isCached)
  }

  /// Would catch: a request that has no verdict because of characters that browsers leave in queries, or a token in
  /// such a query that is not seen.
  @Test("a query with characters that no URL has decides about the request")
  func query() async throws {
    let bench = try RequestBench()
    let token = try bench.token()
    #expect(try await bench.code("Bearer \(token)", url: "\(RequestBench.url)?q=a|b{}\\^%zz#f?access_token=x") == nil)
    #expect(
      try await bench.code("Bearer \(token)", url: "\(RequestBench.url)?q=a|b&access_token=x") == "token_repeated")
    #expect(try await bench.code(nil, url: "\(RequestBench.url)?access_token=\(token)") == "token_missing")
  }

  /// Would catch: a rejected token whose response is another one than RFC 6750's, or that names no way to a better one.
  @Test("a response has another status or challenge than the RFCs'")
  func responses() async throws {
    var bench = try RequestBench()
    let token = try bench.token()
    func response(_ authorization: String?, proof: String? = nil) async throws -> (Int, String) {
      let response = try #require(try await bench.verdict(authorization, proof: proof).rejection?.response)
      #expect(response.fields["Cache-Control"] == "no-store")
      return (response.status, try #require(response.fields["WWW-Authenticate"]))
    }
    let bearer = #"Bearer realm="https://api.test""#
    let dpop = #"DPoP realm="https://api.test", algs="ES256 ES384 EdDSA Ed25519 PS256 RS256""#
    #expect(try await response(nil) == (401, "\(bearer), \(dpop)"))
    #expect(try await response("Basic x") == (401, "\(bearer), \(dpop)"))
    let twice = try await response("Bearer a, Bearer b")
    #expect(twice.0 == 400)
    #expect(AuthenticationChallenge.parse([twice.1]).map { $0["error"] } == ["invalid_request", "invalid_request"])
    let expired = try await response("Bearer \(bench.token(["exp": 1]))")
    #expect(expired.0 == 401)
    #expect(AuthenticationChallenge.parse([expired.1]).map { $0["error"] } == ["invalid_token", nil])
    let old = try await response("DPoP \(token)", proof: bench.proof(token, ["iat": 1]))
    #expect(AuthenticationChallenge.parse([old.1]).map { $0.scheme } == ["DPoP", "Bearer"])
    #expect(AuthenticationChallenge.parse([old.1]).map { $0["error"] } == ["invalid_dpop_proof", nil])
    bench.requirements.requiredScopes = ["admin", "read"]
    bench.requirements.resourceMetadata = "https://api.test/.well-known/oauth-protected-resource"
    let scope = try await response("Bearer \(token)")
    #expect(scope.0 == 403)
    let challenge = try #require(AuthenticationChallenge.parse([scope.1]).first)
    #expect(challenge["error"] == "insufficient_scope" && challenge["scope"] == "admin read")
    #expect(challenge["resource_metadata"] == "https://api.test/.well-known/oauth-protected-resource")
    bench.requirements.requiredScopes = []
    bench.requirements.acrValues = ["platinum", "gold+"]
    bench.requirements.maxAge = .seconds(300)
    let stepUp = try await response("Bearer \(token)")
    #expect(stepUp.0 == 401)
    let step = try #require(AuthenticationChallenge.parse([stepUp.1]).first)
    #expect(step["error"] == "insufficient_user_authentication")
    #expect(step["acr_values"] == "platinum gold+" && step["max_age"] == "300")
    bench.requirements.dpop = .required
    #expect(try await response(nil).1.hasPrefix("DPoP"))
    bench.requirements.dpop = .forbidden
    #expect(try await response(nil).1.contains("DPoP") == false)
  }

  /// Would catch: a token that is used without the key it is bound to, or a proof for a token that is bound to none.
  @Test("a bound token passes without its key, or an unbound one with a proof")
  func binding() async throws {
    var bench = try RequestBench()
    let (bound, free) = (try bench.token(["cnf": bench.bound]), try bench.token())
    #expect(try await bench.code("DPoP \(bound)", proof: bench.proof(bound)) == nil)
    #expect(try await bench.code("Bearer \(bound)") == "confirmation_mismatch")
    #expect(try await bench.code("Bearer \(bound)", proof: bench.proof(bound)) == "confirmation_mismatch")
    #expect(try await bench.code("Bearer \(free)", proof: bench.proof(free)) == "confirmation_mismatch")
    #expect(try await bench.code("DPoP \(free)", proof: bench.proof(free)) == "confirmation_mismatch")
    #expect(try await bench.code("DPoP \(bound)") == "dpop_proof_missing")
    let other = JWK(bench.tokens.signers.ed25519.material)
    #expect(try await bench.code("DPoP \(bound)", proof: bench.proof(bound, key: other)) == "confirmation_mismatch")
    for confirmation in [[:], ["kid": "x"], ["jkt": 1], "x", ["jkt": .string(bench.thumbprint), "jku": "x"]]
      as [JSONValue]
    {
      let token = try bench.token(["cnf": confirmation])
      #expect(try await bench.code("Bearer \(token)") == "confirmation_mismatch")
      #expect(
        try await bench.code("DPoP \(token)", proof: bench.proof(token, ["jti": "x"])) == "confirmation_mismatch")
    }
    bench.requirements.dpop = .required
    #expect(try await bench.code("Bearer \(free)") == "dpop_proof_missing")
    bench.requirements.dpop = .forbidden
    #expect(try await bench.code("Bearer \(free)") == nil)
    #expect(try await bench.code("Bearer \(free)", proof: bench.proof(free)) == "invalid_dpop_proof")
    #expect(try await bench.code("DPoP \(bound)", proof: bench.proof(bound)) == "invalid_dpop_proof")
    #expect(try await bench.code("DPoP \(bound)") == "token_missing")
  }

  /// Would catch: a token that is bound to a certificate and passes without it, or with another one.
  @Test("a token that is bound to a certificate passes without it")
  func certificate() async throws {
    let bench = try RequestBench()
    let certificate = RequestBench.certificate
    let thumbprint = Base64URL.string(
      HashFunction.sha256.hash(try CertificateChain(pem: Array(certificate.utf8)).certificate))
    let token = try bench.token(["cnf": ["x5t#S256": .string(thumbprint)]])
    #expect(try await bench.code("Bearer \(token)", certificate: certificate) == nil)
    #expect(try await bench.code("Bearer \(token)") == "confirmation_mismatch")
    let other = try bench.token(["cnf": ["x5t#S256": .string(bench.thumbprint)]])
    #expect(try await bench.code("Bearer \(other)", certificate: certificate) == "confirmation_mismatch")
    #expect(try await bench.code("Bearer \(bench.token())", certificate: certificate) == nil)
    let both = try bench.token(["cnf": ["x5t#S256": .string(thumbprint), "jkt": .string(bench.thumbprint)]])
    #expect(try await bench.code("DPoP \(both)", proof: bench.proof(both)) == "confirmation_mismatch")
    #expect(try await bench.code("DPoP \(both)", proof: bench.proof(both), certificate: certificate) == nil)
    await #expect(throws: RequestValidationError.self) {
      _ = try await bench.verdict("Bearer \(token)", certificate: "no PEM")
    }
  }

  /// Would catch: a proof that passes twice, one that a rejected request uses up, a client that uses up another's.
  @Test("a proof passes twice, or is used up by a request that does not pass")
  func replay() async throws {
    var bench = try RequestBench()
    let token = try bench.token(["cnf": bench.bound])
    let proof = try bench.proof(token)
    #expect(try await bench.code("DPoP \(token)", proof: bench.proof(token, ["ath": "x"])) == "invalid_dpop_proof")
    bench.requirements.requiredScopes = ["admin"]
    #expect(try await bench.code("DPoP \(token)", proof: proof) == "insufficient_scope")
    bench.requirements.requiredScopes = []
    #expect(try await bench.code("DPoP \(token)", proof: proof) == nil)
    #expect(try await bench.code("DPoP \(token)", proof: proof) == "dpop_proof_replayed")
    #expect(try await bench.code("DPoP \(token)", proof: proof, uid: 2) == "dpop_proof_replayed")
    let key = JWK(bench.tokens.signers.ed25519.material)
    let other = try bench.token(["cnf": ["jkt": .string(try #require(key.thumbprint))]])
    #expect(try await bench.code("DPoP \(other)", proof: bench.proof(other, key: key)) == nil)
    let again = try await withThrowingTaskGroup(of: String?.self) { [bench] group in
      let proof = try bench.proof(token, ["jti": "j-2"])
      for _ in 0..<200 { group.addTask { try await bench.code("DPoP \(token)", proof: proof) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(again.count { $0 == nil } == 1)
    bench.tokens.clock.advance(by: .seconds(61))
    #expect(try await bench.code("DPoP \(token)", proof: proof) == "invalid_dpop_proof")
  }

  /// Would catch: a record that ends with the rules that the proof was used by, while another entry of the configuration,
  /// another sidecar with the same store, or the same one after a reload accepts the proof for longer.
  @Test("a proof passes twice where it is judged by two rules", arguments: [1, 5, 60, 299, 300], [1, 60, 300])
  func replayUnderOtherRules(first: Int64, second: Int64) async throws {
    let store = MemoryRecordStore()
    var bench = try RequestBench(store: store)
    bench.source.proofs = ProofRules(past: .seconds(first), future: .seconds(300))
    var other = bench
    other.source.proofs = ProofRules(past: .seconds(second))
    let token = try bench.token(["cnf": bench.bound, "exp": .integer(bench.tokens.now + 3600)])
    // One that was made ahead lives longest.
    for (jti, ahead) in [("j-0", Int64(0)), ("j-1", 300)] {
      let proof = try bench.proof(token, ["jti": .string(jti), "iat": .integer(bench.tokens.now + ahead)])
      #expect(try await bench.code("DPoP \(token)", proof: proof) == nil)
      for step in [1, 4, 55, 239, 1, 1, 298, 1, 2] as [Int64] {
        bench.tokens.clock.advance(by: .seconds(step))
        let verdict = try await other.code("DPoP \(token)", proof: proof)
        #expect(verdict == "dpop_proof_replayed" || verdict == "invalid_dpop_proof")
      }
      #expect(try await other.code("DPoP \(token)", proof: proof) == "invalid_dpop_proof")
    }
    #expect(ProofRules(past: .seconds(301)).past == ProofRules.longestPast)
  }

  /// Would catch: the clients of one API that take the capacity of another API with the same uid.
  @Test("proofs of two APIs count for one share")
  func shares() throws {
    let bench = try RequestBench()
    func share(_ audience: String?, _ url: String = RequestBench.url, issuer: Issuer? = bench.source.issuer) throws
      -> SpendingShare
    {
      var source = bench.source
      source.issuer = issuer
      return RequestCheck(
        url: try HTTPURL(url), certificate: nil,
        request: IncomingRequest(method: "GET", url: url, fields: [:]),
        requirements: RequestRequirements(audience: audience), source: source, now: bench.tokens.clock.wallNow
      ).share(of: 7)
    }
    let shares = [
      try share("https://a.test"), try share("https://b.test"), try share(nil), try share(nil, "https://c.test/x"),
      try share("https://a.test", issuer: nil),
    ]
    #expect(Set(shares).count == shares.count && shares.allSatisfy { $0.uid == 7 })
    #expect(try share(nil, "https://c.test/y?z") == shares[3])
  }

  /// Would catch: a request that passes although its proof's use is not recorded, or a client that gets a verdict then.
  @Test("a store that is out of reach makes a verdict")
  func store() async throws {
    let store = TroubledStore()
    store.failInsertions()
    var bench = try RequestBench(store: store)
    let token = try bench.token(["cnf": bench.bound])
    let proof = try bench.proof(token)
    await #expect(throws: RequestValidationError.self) { _ = try await bench.verdict("DPoP \(token)", proof: proof) }
    store.failInsertions(false)
    #expect(try await bench.code("DPoP \(token)", proof: proof) == nil)
    bench.source.keys = bench.tokens.source
    bench.tokens.source.fail(with: KeySetError(.fetchFailed, "gone"))
    await #expect(throws: RequestValidationError.self) { _ = try await bench.verdict("Bearer \(token)") }
  }

  /// Would catch: a required nonce that is not demanded, a new one that is not accepted, one key for each process.
  @Test("a proof without a nonce passes where one is required, or one with it does not")
  func nonce() async throws {
    let store = MemoryRecordStore()
    var bench = try RequestBench(store: store)
    let token = try bench.token(["cnf": bench.bound])
    #expect(try await bench.code("DPoP \(token)", proof: bench.proof(token, ["nonce": "any", "jti": "0"])) == nil)
    bench.source.proofs.requiresNonce = true
    let rejection = try #require(
      try await bench.verdict("DPoP \(token)", proof: bench.proof(token, ["nonce": "any"])).rejection)
    #expect(rejection.code.rawValue == "use_dpop_nonce" && rejection.response.status == 401)
    let nonces = rejection.response.fields.values(of: "DPoP-Nonce")
    #expect(nonces.count == 1)
    let nonce = JSONValue.string(try #require(nonces.first))
    #expect(try await bench.code("DPoP \(token)", proof: bench.proof(token)) == "use_dpop_nonce")
    #expect(try await bench.code("DPoP \(token)", proof: bench.proof(token, ["nonce": nonce])) == nil)
    // Another process with the same store.
    var other = try RequestBench(store: store)
    other.source.proofs.requiresNonce = true
    #expect(try await other.code("DPoP \(token)", proof: bench.proof(token, ["nonce": nonce, "jti": "2"])) == nil)
    bench.tokens.clock.advance(by: .seconds(600))
    let later = try bench.token(["cnf": bench.bound])
    #expect(try await bench.code("DPoP \(later)", proof: bench.proof(later, ["nonce": nonce])) == "use_dpop_nonce")
  }

  /// Would catch: a nonce that lives by the rule of the entry that gave it, at another one with a shorter life.
  @Test("a nonce is good under another rule than its own", arguments: [(3600, 10), (10, 3600), (60, 61)])
  func nonceLives(given: Int64, asked: Int64) async throws {
    var bench = try RequestBench()
    bench.source.proofs = ProofRules(requiresNonce: true, nonceLife: .seconds(given))
    let token = try bench.token(["cnf": bench.bound])
    let rejection = try await bench.verdict("DPoP \(token)", proof: bench.proof(token)).rejection
    let nonce = try #require(rejection?.response.fields["DPoP-Nonce"])
    var other = bench
    other.source.proofs = ProofRules(requiresNonce: true, nonceLife: .seconds(asked))
    let proof = try bench.proof(token, ["nonce": .string(nonce), "jti": "n"])
    #expect(try await other.code("DPoP \(token)", proof: proof) == "use_dpop_nonce")
    #expect(try await bench.code("DPoP \(token)", proof: proof) == nil)
  }

  /// Would catch: a token of another API that passes because the call names no audience.
  @Test(
    "a token for another API passes where the call names no audience",
    arguments: [
      ("https://api.test", true), ("https://api.test/", true), ("https://api.test/v1", true),
      ("https://api.test.evil", false), ("https://api.test:8443", false), ("http://api.test", false), ("shop", false),
    ])
  func origin(audience: String, passes: Bool) async throws {
    var bench = try RequestBench()
    bench.requirements.audience = nil
    let token = try bench.token(["aud": .string(audience)])
    #expect(try await bench.code("Bearer \(token)") == (passes ? nil : "aud_mismatch"))
  }

  /// Would catch: how the user authenticated is not looked at, or missing evidence counts as met.
  @Test("a login that is too old or too weak passes")
  func stepUp() async throws {
    var bench = try RequestBench()
    bench.requirements.acrValues = ["gold"]
    bench.requirements.maxAge = .seconds(120)
    func code(_ changes: KeyValuePairs<String, JSONValue?>) async throws -> String? {
      try await bench.code("Bearer \(bench.token(changes))")
    }
    #expect(try await code([:]) == nil)
    for changes in [["acr": "silver"], ["acr": nil], ["auth_time": nil]] as [KeyValuePairs<String, JSONValue?>] {
      #expect(try await code(changes) == "insufficient_user_authentication")
    }
    #expect(try await code(["auth_time": .integer(bench.tokens.now - 200)]) == "insufficient_user_authentication")
  }

  /// Would catch: a call that makes no sense and gets a verdict, which an API would send to its client.
  @Test("a malformed call is a verdict")
  func malformed() async throws {
    var bench = try RequestBench()
    for url in ["", "/orders", "ftp://api.test/", "https://api.test/%zz", "https://u@api.test/"] {
      await #expect(throws: RequestValidationError.self) { _ = try await bench.verdict(nil, url: url) }
    }
    for scopes in [["a b"], [""], ["a\"b"], ["é"], Array(repeating: "a", count: 101)] {
      bench.requirements.requiredScopes = scopes
      await #expect(throws: RequestValidationError.self) { _ = try await bench.verdict(nil) }
    }
  }

  /// Would catch: an answer that is kept where none may be, for too long, for another user, or with a call's
  /// requirements.
  @Test("an issuer's answer is kept too long, or for the wrong call")
  func introspection() async throws {
    let calls = Locked(0)
    let isActive = Locked(true)
    var bench = try RequestBench { _, _ in
      calls.withLock { $0 += 1 }
      guard isActive.withLock({ $0 }) else { return .json(#"{"active":false}"#) }
      return .json(
        #"{"active":true,"sub":"alice","aud":"https://api.test","scope":"read","exp":1800000100}"#)
    }
    #expect(try await bench.code("Bearer opaque") == nil)
    #expect(try await bench.code("Bearer opaque") == nil)
    #expect(calls.withLock { $0 } == 2)
    bench.source.answerLife = .seconds(30)
    for _ in 0..<3 { #expect(try await bench.code("Bearer opaque") == nil) }
    #expect(calls.withLock { $0 } == 3)
    bench.requirements.requiredScopes = ["admin"]
    #expect(try await bench.code("Bearer opaque") == "insufficient_scope")
    bench.requirements.requiredScopes = []
    bench.requirements.audience = "https://other.test"
    #expect(try await bench.code("Bearer opaque") == "aud_mismatch")
    bench.requirements.audience = nil
    #expect(calls.withLock { $0 } == 3)
    let another = try await bench.code("Bearer opaque", uid: 77)
    #expect(another == nil)
    #expect(calls.withLock { $0 } == 4)
    isActive.withLock { $0 = false }
    bench.tokens.clock.advance(by: .seconds(29))
    #expect(try await bench.code("Bearer opaque") == nil)
    bench.tokens.clock.advance(by: .seconds(1))
    #expect(try await bench.code("Bearer opaque") == "inactive")
    // "Not active" is known for 10 seconds at most.
    let before = calls.withLock { $0 }
    bench.tokens.clock.advance(by: .seconds(9))
    #expect(try await bench.code("Bearer opaque") == "inactive")
    #expect(calls.withLock { $0 } == before)
    bench.tokens.clock.advance(by: .seconds(1))
    isActive.withLock { $0 = true }
    _ = try await bench.code("Bearer opaque")
    #expect(calls.withLock { $0 } == before + 1)
  }

  /// Would catch: an answer that is kept as long as it might have been when it was requested, though the configuration
  /// has become stricter since.
  @Test("an issuer's answer is kept by the rule of its request")
  func shorterLife() async throws {
    let calls = Locked(0)
    var bench = try RequestBench { _, _ in
      calls.withLock { $0 += 1 }
      return .json(#"{"active":true,"sub":"alice"}"#)
    }
    bench.requirements = RequestRequirements()
    for (life, isKept) in [(3600, false), (30, true), (10, false), (3600, true), (0, false)] as [(Int64, Bool)] {
      bench.source.answerLife = .seconds(life)
      let before = calls.withLock { $0 }
      #expect(try await bench.code("Bearer opaque") == nil)
      #expect(calls.withLock { $0 } == (isKept ? before : before + 1), "\(life)")
      bench.tokens.clock.advance(by: .seconds(20))
    }
  }

  /// Would catch: an answer that outlives its token, or that a logout leaves behind.
  @Test("an issuer's answer outlives its token or its login")
  func answerEnds() async throws {
    let calls = Locked(0)
    var bench = try RequestBench { _, _ in
      calls.withLock { $0 += 1 }
      return .json(#"{"active":true,"sub":"alice","sid":"s","exp":1800000020}"#)
    }
    bench.requirements = RequestRequirements()
    bench.source.answerLife = .seconds(300)
    _ = try await bench.code("Bearer opaque")
    bench.tokens.clock.advance(by: .seconds(20))
    _ = try await bench.code("Bearer opaque")
    #expect(calls.withLock { $0 } == 2)
    var fresh = try RequestBench { _, _ in
      calls.withLock { $0 += 1 }
      return .json(#"{"active":true,"sub":"alice","sid":"s"}"#)
    }
    fresh.requirements = RequestRequirements()
    fresh.source.answerLife = .seconds(300)
    _ = try await fresh.code("Bearer opaque")
    let issuer = try #require(fresh.source.issuer)
    fresh.answers.removeAnswers(of: "bob", sid: nil, at: issuer)
    #expect(fresh.answers.count == 1)
    fresh.answers.removeAnswers(of: nil, sid: "s", at: issuer)
    #expect(fresh.answers.count == 0)
  }

  /// Would catch: an outage of the issuer that is a verdict, or is kept.
  @Test("an issuer that does not answer makes a verdict, or an error is kept", arguments: [401, 500, 200])
  func unanswered(status: Int) async throws {
    let fails = Locked(true)
    var bench = try RequestBench { _, _ in
      fails.withLock { $0 } ? .json("<html>", status: status) : .json(#"{"active":true}"#)
    }
    bench.requirements = RequestRequirements()
    bench.source.answerLife = .seconds(30)
    await #expect(throws: RequestValidationError.self) { _ = try await bench.verdict("Bearer opaque") }
    fails.withLock { $0 = false }
    #expect(try await bench.code("Bearer opaque") == nil)
  }

  /// Would catch: each of many callers causes a request of its own.
  @Test("callers of one user that come at the same time cause several requests")
  func shared() async throws {
    let gate = Gate()
    var bench = try RequestBench { _, _ in
      await gate.pass()
      return .json(#"{"active":true}"#)
    }
    bench.requirements = RequestRequirements()
    bench.source.answerLife = .seconds(30)
    let codes = try await withThrowingTaskGroup(of: String?.self) { [bench] group in
      for _ in 0..<100 { group.addTask { try await bench.code("Bearer opaque") } }
      #expect(await eventually { gate.waiterCount == 1 })
      gate.open()
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(codes == Array(repeating: nil, count: 100))
    #expect(bench.transport.requests.count == 1)
  }
}
