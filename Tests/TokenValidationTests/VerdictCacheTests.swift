import AuthEngine
import EngineTestSupport
import JOSE
import PosternCrypto
import PosternJSON
import PosternSupport
import PosternTestSupport
@_spi(Reflection) import Swift
import Testing
import TokenValidation

/// The same token again: what may be cached, and what must be checked again.
@Suite struct VerdictCacheTests {
  private func isCached(_ bench: TokenBench, _ token: String, uid: UInt32 = 1) async throws -> Bool? {
    guard case .valid(_, _, _, let cached) = try await bench.verdict(on: token, in: .uid(uid)) else { return nil }
    return cached
  }

  @Test("the second time the signature is not verified again")
  func hit() async throws {
    let bench = try TokenBench(cache: VerdictCache())
    let token = try bench.token()
    #expect(try await isCached(bench, token) == false)
    #expect(try await isCached(bench, token) == true)
    #expect(try await isCached(bench, bench.token(["sub": "user-2"])) == false)
  }

  @Test("without a cache nothing is kept")
  func off() async throws {
    let bench = try TokenBench()
    let token = try bench.token()
    #expect(try await isCached(bench, token) == false)
    #expect(try await isCached(bench, token) == false)
  }

  @Test("exp and max_age are checked at every hit (CWE-613)")
  func time() async throws {
    var bench = try TokenBench(cache: VerdictCache())
    let token = try bench.token()
    #expect(try await isCached(bench, token) == false)
    bench.clock.advance(by: .seconds(329))
    #expect(try await isCached(bench, token) == true)
    bench.clock.advance(by: .seconds(1))
    #expect(try await bench.code(of: token) == "token_expired")
    bench.expectations.maxAge = .seconds(100)
    let other = try bench.token(["auth_time": .integer(bench.now)])
    #expect(try await isCached(bench, other) == false)
    bench.clock.advance(by: .seconds(131))
    #expect(try await bench.code(of: other) == "auth_too_old")
  }

  @Test("a caller's time in the past does not make a kept verdict valid")
  func nbf() async throws {
    var bench = try TokenBench(cache: VerdictCache())
    let token = try bench.token(["nbf": .integer(bench.now)])
    #expect(try await isCached(bench, token) == false)
    bench.expectations.now = Timestamp(secondsSinceEpoch: bench.now - 31)
    #expect(try await bench.code(of: token) == "token_not_yet_valid")
  }

  typealias Change = @Sendable (inout TokenBench) -> Void

  /// One change per stored property of the two inputs, each of which leaves the token valid.
  static let expectationChanges: [String: Change] = [
    "clientID": { $0.expectations.clientID = "api" },
    "nonce": { $0.expectations.nonce = nil },
    "authorizationCode": { $0.expectations.authorizationCode = Secret("code") },
    "accessToken": { $0.expectations.accessToken = Secret("token") },
    "state": { $0.expectations.state = "state" },
    "maxAge": { $0.expectations.maxAge = .seconds(600) },
    "acrValues": { $0.expectations.acrValues = ["gold"] },
    "algorithms": { $0.expectations.algorithms = [.es256] },
    "flow": { $0.expectations.flow = .implicit },
    "trustedAudiences": { $0.expectations.trustedAudiences = ["api", "shop"] },
    "clockSkew": { $0.expectations.clockSkew = .seconds(31) },
    "requiresAuthorizedParty": { $0.expectations.requiresAuthorizedParty = false },
    "rejectsUnexpectedNonce": { $0.expectations.rejectsUnexpectedNonce = true },
  ]

  static let configurationChanges: [String: Change] = [
    "issuer": { $0.configuration.issuer += "/" },
    "algorithms": { $0.configuration.algorithms = [.es256] },
    "clockSkew": { $0.configuration.clockSkew = .seconds(31) },
    "trustedAudiences": { $0.configuration.trustedAudiences.append("more") },
    "requiresAuthorizedParty": { $0.configuration.requiresAuthorizedParty = true },
    "rejectsUnexpectedNonce": { $0.configuration.rejectsUnexpectedNonce = true },
    "maximumTokenAge": { $0.configuration.maximumTokenAge = .seconds(600) },
    "clientSecret": { $0.configuration.clientSecret = Secret("secret") },
    "encryption": { $0.configuration.encryption.algorithms = [.rsaOAEP] },
    "trustedAuthorizedParties": { $0.configuration.trustedAuthorizedParties = ["app"] },
    "trustsProject": { $0.configuration.trustsProject = true },
    "otherIssuers": { $0.configuration.otherIssuers = ["idp.test"] },
    "clientID": { $0.configuration.clientID = "shop" },
    "likelyProvider": { $0.configuration.likelyProvider = LikelyProvider(name: "okta", format: .okta) },
  ]

  @Test("a verdict belongs to the whole policy: any other one validates again")
  func policy() async throws {
    for change in Array(Self.expectationChanges.values) + Self.configurationChanges.values {
      var bench = try TokenBench(cache: VerdictCache())
      bench.configuration.trustedAudiences = ["api", "shop"]
      let token = try bench.token(["aud": ["shop", "api"], "acr": "gold", "azp": nil])
      #expect(try await isCached(bench, token) == false)
      change(&bench)
      #expect(try await isCached(bench, token) != true)
    }
  }

  @Test("no input of the policy is forgotten in the list above")
  func complete() throws {
    let bench = try TokenBench()
    let expectations = Self.members(of: bench.expectations)
    #expect(expectations == Set(Self.expectationChanges.keys).union(["now"]))
    let configuration = Self.members(of: bench.configuration)
    // Of logout tokens alone, whose verdicts are not kept, and of access tokens, whose policy has it.
    #expect(
      configuration == Set(Self.configurationChanges.keys).union(["requiresLogoutExpiry", "accessTokenFormat"]))
  }

  /// The stored properties, which a mirror does not show.
  private static func members<Value>(of value: Value) -> Set<String> {
    var names: Set<String> = []
    _ = _forEachField(of: Value.self) { name, _, _, _ in
      names.insert(String(cString: name))
      return true
    }
    return names
  }

  @Test("values that run into each other are not the same policy")
  func concatenation() async throws {
    var bench = try TokenBench(cache: VerdictCache())
    bench.expectations.acrValues = ["a", "bc"]
    let token = try bench.token(["acr": "a"])
    #expect(try await isCached(bench, token) == false)
    bench.expectations.acrValues = ["a", "b", "c"]
    #expect(try await isCached(bench, token) == false)
    bench.expectations.acrValues = ["ab", "c"]
    #expect(try await bench.code(of: token) == "acr_mismatch")
  }

  @Test("a key that leaves the set takes its verdicts along")
  func revokedKey() async throws {
    let bench = try TokenBench(cache: VerdictCache())
    let token = try bench.token()
    #expect(try await isCached(bench, token) == false)
    bench.source.replace(by: JWKSet([bench.signers.rsa]))
    #expect(try await bench.code(of: token) == "key_not_found")
    bench.source.replace(by: JWKSet([try .generateEC(.p256, keyID: "p256")]))
    #expect(try await bench.code(of: token) == "bad_signature")
    bench.source.replace(by: bench.signers.published)
    #expect(try await isCached(bench, token) == false)
  }

  @Test("another key under the same kid does not inherit verdicts")
  func replacedKey() async throws {
    let bench = try TokenBench(cache: VerdictCache())
    let token = try bench.token()
    #expect(try await isCached(bench, token) == false)
    bench.source.replace(by: JWKSet([try .generateEC(.p256, keyID: "p256")]))
    #expect(try await bench.code(of: token) == "bad_signature")
  }

  @Test("while there are no keys to be had a kept verdict is none either")
  func noKeys() async throws {
    let bench = try TokenBench(cache: VerdictCache())
    let token = try bench.token()
    #expect(try await isCached(bench, token) == false)
    bench.source.fail(with: KeySetError(.fetchFailed, "down"))
    await #expect(throws: KeySetError.self) { try await bench.verdict(on: token) }
  }

  /// What is known of `token` without waiting: nothing, its violation, or "valid".
  private func known(_ bench: TokenBench, _ token: String, keys: any KeySource) -> String? {
    let rules = PreparedTokenRules(bench.configuration)
    switch bench.validator.knownVerdict(on: token, expecting: bench.expectations, by: rules, keys: keys) {
    case .valid?: return "valid"
    case .invalid(let fault)?: return fault.code.rawValue
    case nil: return nil
    }
  }

  @Test("without waiting only a token is known that was verified, by keys that are there")
  func knownToken() async throws {
    let bench = try TokenBench(cache: VerdictCache())
    let (token, keys) = (try bench.token(), StaticJWKSet(bench.signers.published))
    #expect(known(bench, token, keys: keys) == nil)
    #expect(try await isCached(bench, token) == false)
    #expect(known(bench, token, keys: keys) == "valid")
    #expect(known(bench, token + "A", keys: keys) == nil)
    #expect(known(bench, token, keys: bench.source) == nil)
    #expect(known(try TokenBench(), token, keys: keys) == nil)
  }

  @Test("without waiting time, policy and keys are checked as well")
  func knownTokenIsJudged() async throws {
    let bench = try TokenBench(cache: VerdictCache())
    let (token, keys) = (try bench.token(), StaticJWKSet(bench.signers.published))
    #expect(try await isCached(bench, token) == false)
    var other = bench
    other.expectations.nonce = "n-2"
    #expect(known(other, token, keys: keys) == nil)
    other = bench
    other.configuration.clockSkew = .seconds(31)
    #expect(known(other, token, keys: keys) == nil)
    #expect(known(bench, token, keys: StaticJWKSet(JWKSet([bench.signers.rsa]))) == nil)
    #expect(known(bench, token, keys: keys) == nil)
    #expect(try await isCached(bench, token) == false)
    bench.clock.advance(by: .seconds(330))
    #expect(known(bench, token, keys: keys) == "token_expired")
    #expect(known(bench, token, keys: keys) == nil)
  }

  @Test("the answer about a known token is written once")
  func knownAnswer() async throws {
    let bench = try TokenBench(cache: VerdictCache())
    let (token, keys) = (try bench.token(), StaticJWKSet(bench.signers.published))
    _ = try await bench.verdict(on: token)
    var written = 0
    for _ in 0..<3 {
      let rules = PreparedTokenRules(bench.configuration)
      guard
        case .valid(let known)? = bench.validator.knownVerdict(
          on: token, expecting: bench.expectations, by: rules, keys: keys)
      else {
        Issue.record("the token is not known")
        return
      }
      let answer = known.answer { verdict in
        written += 1
        return JSONText(.object(verdict.claims ?? [:]))
      }
      #expect(answer.value["sub"] == "user-1")
    }
    #expect(written == 1)
  }

  @Test("invalid tokens are not cached, and neither are those with a shared secret")
  func notKept() async throws {
    let cache = VerdictCache()
    var bench = try TokenBench(cache: cache)
    _ = try await bench.verdict(on: bench.token(["iss": "x"]))
    let secret = "a secret of at least thirty-two octets"
    bench.configuration.algorithms = [.hs256]
    bench.configuration.clientSecret = Secret(secret)
    let token = try CompactJWS.sign(
      claims: bench.claims(), with: .symmetric(Array(secret.utf8)), algorithm: .hs256)
    #expect(try await isCached(bench, token) == false)
    #expect(try await isCached(bench, token) == false)
    #expect(cache.count == 0)
  }

  @Test("an encrypted token is kept by its outer text")
  func encrypted() async throws {
    var bench = try TokenBench(cache: VerdictCache())
    let key = try JWK.generateEC(.p256)
    bench.configuration.encryption = TokenEncryptionPolicy(keys: [key])
    let token = try CompactJWE.encrypt(
      Array(bench.token().utf8), for: key, algorithm: .ecdhES, encryption: .a128GCM)
    #expect(try await isCached(bench, token) == false)
    #expect(try await isCached(bench, token) == true)
    bench.configuration.encryption.keys = [try .generateEC(.p256)]
    #expect(try await bench.code(of: token) == "decryption_failed")
  }

  @Test("the cache is bounded in entries and in bytes, and keeps what is used")
  func bounded() async throws {
    let cache = VerdictCache(maxEntries: 8)
    let bench = try TokenBench(cache: cache)
    let favourite = try bench.token()
    for index in 0..<40 {
      _ = try await bench.verdict(on: bench.token(["sub": .string("user-\(index)")]))
      #expect(try await isCached(bench, favourite) == (index > 0))
    }
    #expect(cache.count <= 8)
    let small = VerdictCache(maxEntries: 1000, maxBytes: 16_384)
    let other = try TokenBench(cache: small)
    for index in 0..<40 { _ = try await other.verdict(on: other.token(["sub": .string("user-\(index)")])) }
    #expect((1...10).contains(small.count))
    small.removeAll()
    #expect(small.count == 0)
  }

  @Test("a caller with keys of their own, and tokens without end, makes another's be verified again")
  func owners() async throws {
    let cache = VerdictCache(maxEntries: 8)
    let bench = try TokenBench(cache: cache)
    let favourite = try bench.token()
    _ = try await isCached(bench, favourite, uid: 1)
    for index in 0..<40 { _ = try await bench.verdict(on: bench.token(["sub": .string("user-\(index)")]), in: .uid(2)) }
    #expect(cache.count == 8)
    let third = try await isCached(bench, favourite, uid: 3)
    #expect(third == true)
  }

  @Test("an access token's verdict is never an ID token's")
  func kinds() async throws {
    let cache = VerdictCache()
    let bench = try TokenBench(cache: cache)
    let token = try bench.token(["client_id": "shop", "jti": "1"], header: ["typ": "at+jwt"])
    let validator = AccessTokenValidator(clock: bench.clock, cache: cache)
    let verdict = try await validator.validate(
      token, expecting: AccessTokenExpectations(audience: "shop"), configuration: bench.configuration,
      keys: bench.source)
    #expect(verdict.isValid)
    #expect(try await bench.code(of: token) == "wrong_token_type")
  }
}
