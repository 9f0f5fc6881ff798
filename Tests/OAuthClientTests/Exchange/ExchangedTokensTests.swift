import AuthEngine
import EngineTestSupport
import HTTPMessages
import JOSE
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@testable import OAuthClient

/// An issuer whose answers to exchanges a test writes.
private struct ExchangeBench: Sendable {
  typealias Form = [(name: String, value: String)]

  let engine: Engine
  let tokens: ExchangedTokens
  var exchange: TokenExchange
  var issuer: Issuer

  init(
    usesDPoP: Bool = false, _ exchange: TokenExchange = .testing,
    answer: @escaping @Sendable (Form, Int) throws(TransportError) -> HTTPResponse = { _, count in
      .exchanged("new-\(count)")
    }
  ) throws {
    let count = Counter()
    engine = Engine { request, _ throws(TransportError) in
      let form = FormEncoding.decode(String(decoding: request.body ?? [], as: UTF8.self)) ?? []
      return try answer(form.map { ($0.name, $0.value) }, count.next())
    }
    tokens = ExchangedTokens(sharing: engine.tokens)
    self.exchange = exchange
    issuer = try .testing(usesDPoP: usesDPoP)
  }

  var grant: ExchangeGrant { ExchangeGrant(issuer: issuer, resource: "reports", exchange: exchange) }
  var now: Timestamp { engine.clock.wallNow }

  func inbound(
    _ value: String = "inbound", subject: String = "alice", issuer: String = "https://idp.test",
    sessionID: String? = nil,
    objectID: String? = nil, life: Duration = .seconds(300)
  ) -> InboundToken {
    InboundToken(
      value: Secret(value), issuer: issuer, subject: subject, sessionID: sessionID, objectID: objectID,
      expiresAt: now + life)
  }

  func token(
    _ inbound: InboundToken? = nil, uid: UInt32 = 1, replacing: AccessToken? = nil
  ) async throws(TokenError) -> AccessToken {
    try await tokens.token(for: inbound ?? self.inbound(), by: grant, replacing: replacing, in: .uid(uid))
  }

  func value(_ inbound: InboundToken? = nil, uid: UInt32 = 1) async throws(TokenError) -> String {
    try await token(inbound, uid: uid).value.reveal()
  }

  /// The form of the latest token request.
  var form: [String] {
    let body = engine.tokenRequests.last?.body ?? []
    return (FormEncoding.decode(String(decoding: body, as: UTF8.self)) ?? []).map { "\($0.name)=\($0.value)" }
  }
}

extension TokenExchange {
  fileprivate static var testing: TokenExchange {
    var exchange = TokenExchange(grant: .tokenExchange, inboundAudiences: ["https://gateway.test"])
    exchange.audiences = ["https://reports.test"]
    exchange.scope = "reports:read"
    return exchange
  }

  fileprivate static var entra: TokenExchange {
    var exchange = TokenExchange(grant: .jwtBearer, inboundAudiences: ["gateway"])
    exchange.dialect = .entra
    exchange.scope = "api://reports/.default"
    return exchange
  }
}

extension HTTPResponse {
  fileprivate static func exchanged(
    _ token: String, type: String? = "urn:ietf:params:oauth:token-type:access_token", tokenType: String = "Bearer",
    expiresIn: Int = 3600, more: String = ""
  ) -> HTTPResponse {
    let issued = type.map { #","issued_token_type":"\#($0)""# } ?? ""
    return json(
      #"{"access_token":"\#(token)","token_type":"\#(tokenType)","expires_in":\#(expiresIn)\#(issued)\#(more)}"#)
  }
}

@Suite struct ExchangedTokensTests {
  @Test("1,000 callers with one inbound token cause more than one exchange")
  func sharesOneExchange() async throws {
    let gate = Gate()
    let engine = Engine { _, _ in
      await gate.pass()
      return .exchanged("one")
    }
    let tokens = ExchangedTokens(sharing: engine.tokens)
    let bench = try ExchangeBench()
    let values = await withTaskGroup(of: String?.self) { group -> [String?] in
      for _ in 0..<1000 {
        group.addTask { try? await tokens.token(for: bench.inbound(), by: bench.grant, in: .uid(1)).value.reveal() }
      }
      #expect(await eventually { gate.waiterCount == 1 })
      gate.open()
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(values.count == 1000 && values.allSatisfy { $0 == "one" })
    #expect(engine.tokenRequests.count == 1)
  }

  @Test("two uids, two tokens of one user, or two issuers with equal sub share a token")
  func keepsApart() async throws {
    var bench = try ExchangeBench()
    let first = try await bench.value()
    #expect(try await bench.value() == first)
    #expect(try await bench.value(uid: 2) != first)
    #expect(try await bench.value(bench.inbound("of acr 2")) != first)
    #expect(try await bench.value(bench.inbound("elsewhere", issuer: "https://other.test")) != first)
    bench.exchange.scope = "reports:write"
    #expect(try await bench.value() != first)
    bench.issuer = try .testing(clientID: "another")
    #expect(try await bench.value() != first)
    #expect(bench.engine.tokenRequests.count == 6)
  }

  @Test("100,000 interleavings of users, tokens and uids give one the token of another")
  func neverSharesAmongUsers() async throws {
    // The token that an exchange gives is the inbound token's, so that a mistake shows in the value.
    let bench = try ExchangeBench { form, count throws(TransportError) in
      let subject = form.first { $0.name == "subject_token" }?.value ?? ""
      return .exchanged("for-\(subject)-\(count)")
    }
    let seen = Locked<[String: String]>([:])
    await withTaskGroup(of: Void.self) { group in
      for worker in 0..<20 {
        group.addTask {
          var random = SeededGenerator(seed: UInt64(worker))
          for _ in 0..<5000 {
            let user = Int.random(in: 0..<40, using: &random)
            let uid = UInt32.random(in: 1...3, using: &random)
            // Equal subjects at two issuers, and two tokens of each.
            let issuer = user.isMultiple(of: 2) ? "https://idp.test" : "https://other.test"
            let inbound = bench.inbound("in\(user)", subject: "user\(user / 4)", issuer: issuer)
            if Int.random(in: 0..<500, using: &random) == 0 {
              bench.tokens.forget(subject: "user\(user / 4)", at: bench.issuer)
            }
            guard let value = try? await bench.value(inbound, uid: uid) else {
              Issue.record("no token for \(inbound)")
              continue
            }
            #expect(value.hasPrefix("for-in\(user)-"))
            let pair = "\(uid) in\(user)"
            let other = seen.withLock { seen in
              defer { seen[value] = pair }
              return seen[value]
            }
            #expect(other == nil || other == pair, "\(value) is of \(other ?? "")")
          }
        }
      }
    }
  }

  @Test("an exchanged token is used after its inbound token has expired, or for longer than an hour")
  func livesNoLongerThanTheInboundToken() async throws {
    let bench = try ExchangeBench()
    let short = bench.inbound(life: .seconds(3))
    let first = try await bench.token(short)
    #expect(first.expiresAt == short.expiresAt)
    bench.engine.clock.advance(by: .seconds(2))
    #expect(try await bench.token(short).generation == first.generation)
    bench.engine.clock.advance(by: .seconds(1))
    let error = await #expect(throws: TokenError.self) { try await bench.token(short) }
    #expect(error?.detail.contains("expired") == true)

    let long = try ExchangeBench { _, count in .exchanged("new-\(count)", expiresIn: 1_000_000) }
    let inbound = long.inbound(life: .seconds(1_000_000))
    let generation = try await long.token(inbound).generation
    long.engine.clock.advance(by: .seconds(3599))
    #expect(try await long.token(inbound).generation == generation)
    long.engine.clock.advance(by: .seconds(1))
    #expect(try await long.token(inbound).generation > generation)
  }

  @Test(
    "an answer of the wrong type is used",
    arguments: [
      HTTPResponse.exchanged("t", type: nil), .exchanged("t", tokenType: "N_A"),
      .exchanged("t", type: "urn:ietf:params:oauth:token-type:id_token"),
      .exchanged("t", type: "urn:ietf:params:oauth:token-type:refresh_token"),
      .exchanged("t", type: "urn:ietf:params:oauth:token-type:jwt"), .exchanged("inbound"),
    ])
  func rejectsOtherTypes(answer: HTTPResponse) async throws {
    let bench = try ExchangeBench { _, _ in answer }
    let error = await #expect(throws: TokenError.self) { try await bench.token() }
    guard case .malformed? = error?.kind else {
      Issue.record("\(String(describing: error))")
      return
    }
    // The issuer decided: it is not requested once more at once, but soon.
    _ = await #expect(throws: TokenError.self) { try await bench.token() }
    #expect(bench.engine.tokenRequests.count == 1)
    bench.engine.clock.advance(by: .seconds(5))
    _ = await #expect(throws: TokenError.self) { try await bench.token() }
    #expect(bench.engine.tokenRequests.count == 2)
  }

  @Test("a token of another user of the same issuer is used, or one whose identifier is pairwise is not")
  func comparesSubjects() async throws {
    let keys = try TokenKeys()
    func outcome(_ claims: JSONObject, _ change: (inout TokenExchange) -> Void = { _ in }) async throws -> String? {
      let answer = HTTPResponse.exchanged(try CompactJWS.sign(claims: claims, with: keys.p256, algorithm: .es256))
      var bench = try ExchangeBench { _, _ in answer }
      change(&bench.exchange)
      let inbound = bench.inbound(objectID: "o-1")
      do throws(TokenError) {
        _ = try await bench.token(inbound)
        return nil
      } catch {
        return error.detail
      }
    }
    #expect(try await outcome(["iss": "https://idp.test", "sub": "alice", "act": ["sub": "gateway"]]) == nil)
    #expect(try await outcome(["iss": "https://idp.test", "sub": "bob"])?.contains("another user") == true)
    #expect(try await outcome(["iss": "https://idp.test", "sub": "bob"]) { $0.subject = .any } == nil)
    #expect(try await outcome(["iss": "https://other.test", "sub": "bob"]) == nil)
    #expect(try await outcome(["iss": "https://idp.test", "sub": "x", "oid": "o-1"]) { $0 = .entra } == nil)
    #expect(try await outcome(["iss": "https://idp.test", "sub": "x", "oid": "o-2"]) { $0 = .entra } != nil)
  }

  @Test("the form of a request lacks a parameter, or has one that the dialect has not")
  func sendsTheDialectsForm() async throws {
    var bench = try ExchangeBench()
    bench.exchange.audiences = ["a", "b"]
    bench.exchange.resources = ["https://r.test"]
    _ = try await bench.token()
    let type = "urn:ietf:params:oauth:token-type:access_token"
    #expect(
      bench.form == [
        "grant_type=urn:ietf:params:oauth:grant-type:token-exchange", "subject_token=inbound",
        "subject_token_type=\(type)", "requested_token_type=\(type)", "resource=https://r.test", "audience=a",
        "audience=b", "scope=reports:read",
      ])
    bench.exchange = .entra
    _ = try await bench.token()
    #expect(
      bench.form == [
        "grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion=inbound", "scope=api://reports/.default",
        "requested_token_use=on_behalf_of",
      ])
  }

  @Test("the acting party is not named, or its token is requested for each exchange")
  func namesTheActor() async throws {
    var bench = try ExchangeBench { form, count throws(TransportError) in
      form[0].value == "client_credentials" ? .token("actor") : .exchanged("new-\(count)")
    }
    bench.exchange.actor = .clientCredentials
    _ = try await bench.token()
    _ = try await bench.token(bench.inbound("second"))
    #expect(bench.form.contains("actor_token=actor"))
    #expect(bench.engine.tokenRequests.count == 3)
  }

  @Test("a bearer token is used where bound ones are requested, or a token is bound to the inbound token's key")
  func bindsToOwnKey() async throws {
    let bench = try ExchangeBench(usesDPoP: true) { _, count in .exchanged("new-\(count)", tokenType: "DPoP") }
    let token = try await bench.token()
    #expect(token.type == .dpop)
    #expect(bench.engine.tokenRequests.first?.fields["DPoP"] != nil)
    let plain = try ExchangeBench { _, _ in .exchanged("t", tokenType: "DPoP") }
    _ = await #expect(throws: TokenError.self) { try await plain.token() }
  }

  @Test("a failed exchange leaves others waiting, gives an older token, or one of the client")
  func failsClosed() async throws {
    let bench = try ExchangeBench { _, count throws(TransportError) in
      switch count {
      case 1: .exchanged("old", expiresIn: 100)
      case 2: .status(503)
      case 3: throw TransportError(code: .timedOut, outcome: .sentNoReply, detail: "")
      default: .exchanged("new")
      }
    }
    let inbound = bench.inbound(life: .seconds(3000))
    #expect(try await bench.value(inbound) == "old")
    bench.engine.clock.advance(by: .seconds(95))
    _ = await #expect(throws: TokenError.self) { try await bench.token(inbound) }
    _ = await #expect(throws: TokenError.self) { try await bench.token(inbound) }
    #expect(try await bench.value(inbound) == "new")
    #expect(bench.engine.tokenRequests.count == 4)
  }

  @Test("a required interaction is an answer to the next call, or its claims are lost")
  func requiresInteraction() async throws {
    let claims = #"{"access_token":{"acrs":{"essential":true,"value":"c1"}}}"#
    let text = JSONWriter().string(.string(claims))
    let bench = try ExchangeBench(.entra) { _, count in
      count < 3
        ? .json(#"{"error":"interaction_required","suberror":"basic_action","claims":\#(text)}"#, status: 400)
        : .exchanged("new", type: nil)
    }
    for _ in 0..<2 {
      let error = await #expect(throws: TokenError.self) { try await bench.token() }
      let interaction = error?.oauthError?.interaction
      #expect(interaction?.claims == claims)
      let encoded = Base64.string(Array(claims.utf8))
      #expect(interaction?.challenge == #"Bearer error="insufficient_claims", claims="\#(encoded)""#)
    }
    #expect(try await bench.value() == "new")
    #expect(bench.engine.observer.events.contains { if case .exchangeRejected = $0 { true } else { false } })
    #expect(!bench.engine.observer.events.contains { if case .tokenFailed = $0 { true } else { false } })
  }

  @Test(
    "claims that are no JSON object, or too long, reach a client; or another error becomes an interaction",
    arguments: [
      (#"{"error":"invalid_grant","suberror":"basic_action"}"#, true, false),
      (#"{"error":"invalid_grant","suberror":"bad_token"}"#, false, false),
      (#"{"error":"invalid_grant","claims":{"id_token":{}}}"#, true, true),
      (#"{"error":"interaction_required","claims":"\u0022}, x"}"#, true, false),
      (#"{"error":"interaction_required","claims":["x"]}"#, true, false),
      (#"{"error":"login_required"}"#, true, false), (#"{"error":"consent_required"}"#, true, false),
      (#"{"error":"invalid_client","claims":"{}"}"#, false, false),
      (
        #"{"error":"interaction_required","claims":"{\u0022a\u0022:\u0022\#(String(repeating: "a", count: 8192))\u0022}"}"#,
        true, false
      ),
    ])
  func readsInteractions(body: String, isInteraction: Bool, hasClaims: Bool) async throws {
    let bench = try ExchangeBench { _, _ in .json(body, status: 400) }
    let error = await #expect(throws: TokenError.self) { try await bench.token() }
    #expect((error?.oauthError?.interaction != nil) == isInteraction)
    #expect((error?.oauthError?.interaction?.claims != nil) == hasClaims)
  }

  @Test("an issuer that echoes the inbound token in claims shows it to the caller")
  func dropsEchoes() async throws {
    let bench = try ExchangeBench { form, _ throws(TransportError) in
      let token = form.first { $0.name == "subject_token" }?.value ?? ""
      return .json(#"{"error":"interaction_required","claims":"{\"x\":\"\#(token)\"}"}"#, status: 400)
    }
    let error = await #expect(throws: TokenError.self) { try await bench.token(bench.inbound("a-long-inbound-token")) }
    #expect(error?.oauthError?.interaction != nil && error?.oauthError?.interaction?.claims == nil)
  }

  @Test("an issuer that echoes a secret in acr_values puts it into the challenge for the caller")
  func dropsEchoesInChallenges() async throws {
    let bench = try ExchangeBench { form, _ throws(TransportError) in
      let token = form.first { $0.name == "subject_token" }?.value ?? ""
      return .json(#"{"error":"insufficient_user_authentication","acr_values":"gold \#(token)"}"#, status: 400)
    }
    let error = await #expect(throws: TokenError.self) { try await bench.token(bench.inbound("a-long-inbound-token")) }
    #expect(error?.oauthError?.interaction?.challenge == #"Bearer error="insufficient_user_authentication""#)
  }

  @Test("a rejected token is replaced more than once, or without a limit")
  func replacesRejectedTokens() async throws {
    let bench = try ExchangeBench()
    let first = try await bench.token()
    let second = try await bench.token(replacing: first)
    #expect(second.generation > first.generation)
    #expect(try await bench.token(replacing: first).generation == second.generation)
    #expect(bench.engine.tokenRequests.count == 2)
    var token = second
    for _ in 0..<4 { token = try await bench.token(replacing: token) }
    let last = token
    let error = await #expect(throws: TokenError.self) { try await bench.token(replacing: last) }
    #expect(error?.retryAfter != nil)
  }

  @Test("a user's logout leaves a token in the cache, that of another one is dropped, or one under way is kept")
  func forgets() async throws {
    let gate = Gate()
    let count = Counter()
    let engine = Engine { _, _ in
      let number = count.next()
      if number == 4 { await gate.pass() }
      return .exchanged("new-\(number)")
    }
    let tokens = ExchangedTokens(sharing: engine.tokens)
    let bench = try ExchangeBench()
    let (alice, bob) = (bench.inbound("a"), bench.inbound("b", subject: "bob", sessionID: "s-1"))
    let elsewhere = bench.inbound("c", issuer: "https://other.test")
    @Sendable func value(_ inbound: InboundToken) async throws -> String {
      try await tokens.token(for: inbound, by: bench.grant, in: .uid(1)).value.reveal()
    }
    _ = try await value(alice)
    _ = try await value(bob)
    _ = try await value(elsewhere)
    #expect(try tokens.forget(subject: "alice", at: .testing(identifier: "https://third.test")) == 0)
    #expect(tokens.forget(sessionID: "s-1", at: bench.issuer) == 1)
    #expect(tokens.count == 2)
    // It was requested before the logout, and is the answer to its one call only.
    async let underWay = value(bob)
    #expect(await eventually { gate.waiterCount == 1 })
    tokens.forget(subject: "bob", at: bench.issuer)
    gate.open()
    #expect(try await underWay == "new-4")
    #expect(try await value(bob) == "new-5")
  }

  @Test("an inbound token that expires during its exchange counts as a fault of the issuer")
  func blamesNoIssuerForExpiry() async throws {
    let clock = Locked<ManualClock?>(nil)
    let bench = try ExchangeBench { _, _ throws(TransportError) in
      clock.withLock { $0 }?.advance(by: .seconds(3))
      return .exchanged("late")
    }
    clock.withLock { $0 = bench.engine.clock }
    let error = await #expect(throws: TokenError.self) { try await bench.token(bench.inbound(life: .seconds(2))) }
    #expect(error?.isAboutUser == true)
  }

  @Test("a refresh token of an answer is used, or a printed value has a token in it")
  func printsNothing() async throws {
    let bench = try ExchangeBench { _, _ in .exchanged("new", more: #","refresh_token":"r""#) }
    let inbound = bench.inbound("very-secret", subject: "alice-of-the-token")
    _ = try await bench.token(inbound)
    bench.engine.clock.advance(by: .seconds(299))
    #expect(bench.engine.tokenRequests.count == 1)
    let texts = ["\(inbound)", "\(bench.grant)", "\(bench.tokens)", String(reflecting: inbound)]
    #expect(texts.allSatisfy { !$0.contains("very-secret") && !$0.contains("alice-of-the-token") })
  }
}
