import AuthEngine
import EngineTestSupport
import JOSE
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@testable import TokenValidation

/// Back-Channel Logout 1.0 section 2.6.
@Suite struct LogoutTokenValidatorTests {
  private static let event = "http://schemas.openid.net/event/backchannel-logout"

  struct Wrong: Sendable, CustomTestStringConvertible {
    let claim: String
    let value: JSONValue?
    let code: String
    var testDescription: String { "\(claim) \(code)" }
  }

  let bench: TokenBench
  let validator: LogoutTokenValidator

  init() throws {
    bench = try TokenBench()
    validator = LogoutTokenValidator(clock: bench.clock)
  }

  private func token(_ changes: KeyValuePairs<String, JSONValue?> = [:], header: JSONObject = [:]) throws -> String {
    var claims = bench.claims([
      "nonce": nil, "auth_time": nil, "jti": "l-1", "sid": "s-1", "events": [Self.event: [:]],
    ])
    for (name, value) in changes { claims[name] = value }
    return try CompactJWS.sign(claims: claims, with: bench.signers.p256, algorithm: .es256, header: header)
  }

  private func code(_ token: String, on validator: LogoutTokenValidator? = nil) async throws -> String? {
    try await (validator ?? self.validator).validate(
      token, expecting: LogoutTokenExpectations(clientID: "shop"), configuration: bench.configuration,
      keys: bench.source
    ).fault?.code.rawValue
  }

  @Test("typ may be absent, JWT or logout+jwt, nothing else")
  func types() async throws {
    for (index, type) in ["logout+jwt", "JWT", "application/logout+jwt"].enumerated() {
      #expect(try await code(token(["jti": .integer(0)], header: ["typ": .string(type)])) == "invalid_claim_type")
      #expect(try await code(token(["jti": .string("\(index)")], header: ["typ": .string(type)])) == nil)
    }
    #expect(try await code(token()) == nil)
    #expect(try await code(token(header: ["typ": "at+jwt"])) == "wrong_token_type")
  }

  @Test(
    "one wrong claim is reported by its own name",
    arguments: [
      Wrong(claim: "iss", value: "x", code: "iss_mismatch"), Wrong(claim: "aud", value: "x", code: "aud_mismatch"),
      Wrong(claim: "aud", value: ["shop", "x"], code: "untrusted_audience"),
      Wrong(claim: "iss", value: nil, code: "missing_claim"), Wrong(claim: "aud", value: nil, code: "missing_claim"),
      Wrong(claim: "iat", value: nil, code: "missing_claim"), Wrong(claim: "exp", value: nil, code: "missing_claim"),
      Wrong(claim: "exp", value: 1, code: "token_expired"), Wrong(claim: "jti", value: nil, code: "missing_claim"),
      Wrong(claim: "jti", value: .string(String(repeating: "j", count: 513)), code: "invalid_claim"),
      Wrong(claim: "events", value: nil, code: "events_missing"),
      Wrong(claim: "events", value: [:], code: "events_missing"),
      Wrong(claim: "events", value: [event: true], code: "events_missing"),
      Wrong(claim: "events", value: [.string(event)], code: "events_missing"),
      Wrong(claim: "nonce", value: "n", code: "nonce_forbidden"),
    ] as [Wrong])
  func wrong(_ wrong: Wrong) async throws {
    #expect(try await code(token([wrong.claim: wrong.value])) == wrong.code)
    #expect(try await code(token()) == nil, "an invalid token must not use up the jti")
  }

  @Test("a subject or a session must be named")
  func target() async throws {
    #expect(try await code(token(["sub": nil, "sid": nil])) == "sub_or_sid_missing")
    #expect(try await code(token(["sub": "", "sid": nil])) == "sub_or_sid_missing")
    #expect(try await code(token(["sub": nil])) == nil)
    #expect(try await code(token(["sid": nil, "jti": "2"])) == nil)
  }

  @Test("a token is good once, until it has expired")
  func replay() async throws {
    let token = try token()
    #expect(try await code(token) == nil)
    #expect(try await code(token) == "jti_replayed")
    #expect(try await code(self.token(["jti": "l-2"])) == nil)
    bench.clock.advance(by: .seconds(331))
    #expect(try await code(token) == "token_expired")
    bench.clock.advance(by: .seconds(300))
    #expect(try await code(self.token()) == nil, "an expired entry must not block its name")
  }

  @Test("a token without exp is accepted where that is not permitted, for longer than two minutes, or twice")
  func withoutExpiry() async throws {
    var configuration = bench.configuration
    configuration.requiresLogoutExpiry = false
    configuration.clockSkew = .zero
    let fault = { (token: String) in
      try await validator.validate(
        token, expecting: LogoutTokenExpectations(clientID: "shop"), configuration: configuration, keys: bench.source
      ).fault?.code.rawValue
    }
    let token = try token(["exp": nil])
    #expect(try await code(token) == "missing_claim")
    #expect(try await fault(token) == nil)
    #expect(try await fault(token) == "jti_replayed")
    #expect(try await fault(self.token(["exp": 1])) == "token_expired")
    let second = try self.token(["exp": nil, "jti": "l-2"])
    bench.clock.advance(by: .seconds(121))
    #expect(try await fault(second) == "token_too_old")
  }

  @Test("a used token is good again under another configuration, which lets it live longer", arguments: [true, false])
  func otherRules(expires: Bool) async throws {
    func code(skew: Int64, _ token: String) async throws -> String? {
      var configuration = bench.configuration
      configuration.clockSkew = .seconds(skew)
      configuration.requiresLogoutExpiry = false
      return try await validator.validate(
        token, expecting: LogoutTokenExpectations(clientID: "shop"), configuration: configuration, keys: bench.source
      ).fault?.code.rawValue
    }
    let life: Int64 = 120
    let used = try token(["exp": expires ? .integer(bench.now + life) : nil, "iat": .integer(bench.now)])
    #expect(try await code(skew: 0, used) == nil)
    for step in [life - 1, 1, 299] {
      bench.clock.advance(by: .seconds(step))
      #expect(try await code(skew: 300, used) == "jti_replayed")
    }
    bench.clock.advance(by: .seconds(1))
    #expect(try await code(skew: 300, used) != nil)
    bench.clock.advance(by: .seconds(2))
    #expect(try await code(skew: 300, used) == (expires ? "token_expired" : "token_too_old"))
  }

  @Test("a token whose requirement could not be met is rejected when it comes once more, or stays valid afterwards")
  func retry() async throws {
    let token = try token()
    let expectations = LogoutTokenExpectations(clientID: "shop")
    let verdict = try await validator.validate(
      token, expecting: expectations, configuration: bench.configuration, keys: bench.source)
    let claims = try #require(verdict.claims)
    validator.permitRetry(of: claims, expecting: expectations, configuration: bench.configuration)
    #expect(try await code(token) == nil)
    #expect(try await code(token) == "jti_replayed")
  }

  @Test("tokens of another realm or client are other tokens")
  func realms() async throws {
    let token = try token()
    for (realm, client) in [("a", "shop"), ("b", "shop")] {
      var expectations = LogoutTokenExpectations(clientID: client, realm: realm)
      expectations.clockSkew = .zero
      for expected in [nil, "jti_replayed"] {
        let verdict = try await validator.validate(
          token, expecting: expectations, configuration: bench.configuration, keys: bench.source)
        #expect(verdict.fault?.code.rawValue == expected)
      }
    }
  }

  @Test("of many at once exactly one is accepted")
  func concurrentReplay() async throws {
    let token = try token()
    let accepted = try await withThrowingTaskGroup(of: Bool.self) { group in
      for _ in 0..<32 { group.addTask { try await code(token) == nil } }
      return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(accepted == 1)
  }

  @Test("a caller with keys of their own brings another's used token back into use, by using very many")
  func realms() {
    let replays = LogoutReplayCache(maxEntries: 8)
    func isNew(_ name: String, _ realm: String, life: Int64) -> Bool {
      replays.admit(
        LogoutReplayCache.Entry(realm: realm, issuer: "i", clientID: "c", identifier: name),
        until: bench.clock.wallNow + .seconds(life), now: bench.clock.wallNow)
    }
    #expect(isNew("l", "peer 1", life: 60))
    for number in 0..<40 { #expect(isNew("\(number)", "peer 2", life: 86_400)) }
    #expect(!isNew("l", "peer 1", life: 60) && replays.count == 8)
  }

  @Test("a caller fills the memory with long issuers, or two tokens whose names join to one text are one")
  func longNames() {
    func entry(_ issuer: String, _ client: String, _ name: String) -> LogoutReplayCache.Entry {
      LogoutReplayCache.Entry(realm: "peer 1", issuer: issuer, clientID: client, identifier: name)
    }
    let long = String(repeating: "x", count: 100_000)
    #expect(entry(long, "c", "l").digest.count == 32)
    let names = [entry(long, "c", "l"), entry("a", "bc", "d"), entry("ab", "c", "d"), entry("a", "b", "cd")]
    #expect(Set(names).count == 4 && Set(names + names).count == 4)
  }

  @Test("the records are bounded, and the oldest is dropped first")
  func bounded() async throws {
    let replays = LogoutReplayCache(maxEntries: 8)
    let validator = LogoutTokenValidator(clock: bench.clock, replays: replays)
    for index in 0..<40 { #expect(try await code(token(["jti": .string("\(index)")]), on: validator) == nil) }
    #expect(replays.count <= 8)
    #expect(try await code(token(["jti": "39"]), on: validator) == "jti_replayed")
    bench.clock.advance(by: .seconds(700))
    #expect(try await code(token(["jti": "39"]), on: validator) == nil)
  }
}
