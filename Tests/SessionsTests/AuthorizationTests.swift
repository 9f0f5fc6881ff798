import AuthEngine
import EngineTestSupport
import HTTPMessages
import JOSE
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@testable import Sessions

/// An authorization is valid for one response of the token endpoint, and contains what the issuer's metadata require.
@Suite struct AuthorizationTests {
  /// An issuer with metadata, and a token endpoint whose response a test sets.
  private struct Bench {
    let clock = ManualClock()
    let metadata: Locked<String>
    let answers = Locked<[Result<HTTPResponse, TransportError>]>([])
    let transport: ScriptedTransport
    let store = TroubledStore()
    let sessions: UserSessions
    let issuer: SessionIssuer
    let scope: String

    init(_ metadata: String = "", scope: String = "orders", endpoints: [ProviderEndpoint: String] = [:]) throws {
      let document = Locked(metadata)
      let answers = answers
      self.metadata = document
      self.scope = scope
      transport = ScriptedTransport { request, _ throws(TransportError) in
        if request.url.path == "/token" {
          return try answers.withLock { $0.isEmpty ? .success(.token("a")) : $0.removeFirst() }.get()
        }
        guard request.url.path == "/.well-known/openid-configuration" else { return .status(503) }
        return .json(
          #"{"issuer":"https://idp.test","authorization_endpoint":"https://idp.test/authorize","#
            + #""token_endpoint":"https://idp.test/token","jwks_uri":"https://idp.test/jwks"\#(document.withLock { $0 })}"#
        )
      }
      let services = Services.testing(transport, clock: clock)
      let discovery = ProviderDiscovery(services)
      sessions = UserSessions(services, store: store, discovery: discovery)
      let keys = KeySetStore(services, discovery: discovery)
      let configured = try Issuer.testing(endpoints: endpoints)
      issuer = SessionIssuer(
        issuer: configured, tokens: IDTokenConfiguration(issuer: "https://idp.test"),
        keys: keys.source(for: configured, policy: KeySetPolicy()))
    }

    var tokenRequests: Int { transport.requests(to: "https://idp.test/token").count }

    func begin(uid: UInt32 = 1) async throws(SessionError) -> String {
      var request = AuthorizationRequest(redirectURI: "https://app.test/cb")
      request.scope = scope
      return try await sessions.beginAuthorization(request, at: issuer, in: .uid(uid)).state
    }

    /// Completes the login of `state` from a browser that has kept `kept`; nil: the same one.
    func complete(
      _ state: String, _ query: String = "code=c", kept: String? = nil, replacing earlier: SessionHandle? = nil,
      uid: UInt32 = 1
    ) async throws(SessionError) -> Session {
      let issuer = issuer
      return try await sessions.completeAuthorization(
        callback: "https://app.test/cb?state=\(state)&\(query)", state: kept ?? state, replacing: earlier,
        issuer: { _ in issuer }, in: .uid(uid))
    }
  }

  @Test("a login is completed through the part of the program that began it, or one that this part is in")
  func origins() async throws {
    let bench = try Bench()
    func origin(_ path: String...) -> LoginOrigin {
      var origin = LoginOrigin()
      origin.path = path
      return origin
    }
    let issuer = bench.issuer
    for (completing, isAllowed) in [
      (origin(), true), (origin("a"), true), (origin("a", "b"), true), (origin("a", "c"), false),
      (origin("a", "b", "d"), false), (origin("b"), true), (origin("x"), false),
    ] {
      let begun = try await bench.sessions.beginAuthorization(
        AuthorizationRequest(redirectURI: "https://app.test/cb"), at: issuer, origin: origin("a", "b"), in: .uid(1))
      var fault: SessionError?
      do throws(SessionError) {
        _ = try await bench.sessions.completeAuthorization(
          callback: "https://app.test/cb?state=\(begun.state)&code=c", state: begun.state,
          origin: completing,
          issuer: { _ in issuer }, in: .uid(1))
      } catch { fault = error }
      if case .stateUnknown? = fault?.kind { #expect(!isAllowed) } else { #expect(isAllowed) }
    }
  }

  @Test(
    "a login does not begin where its callback may be another issuer's, which would give its code to this one",
    arguments: [
      ("https://app.test/cb", "https://app.test/cb", "", false),
      ("https://app.test/cb", "https://APP.test:443/cb?idp=corp", "", false),
      ("https://app.test/cb", "https://app.test/other", "", true),
      ("http://127.0.0.1:8765/cb", "http://127.0.0.1:8765/cb", "", true),
      ("http://localhost/cb", "http://localhost/cb", "", true),
      (
        "https://app.test/cb", "https://app.test/cb",
        #","authorization_response_iss_parameter_supported":true"#, true
      ),
    ])
  func sharedRedirectURI(own: String, other: String, metadata: String, isAllowed: Bool) async throws {
    let bench = try Bench(metadata)
    var issuer = bench.issuer
    issuer.otherRedirectURIs = [other]
    do throws(SessionError) {
      _ = try await bench.sessions.beginAuthorization(
        AuthorizationRequest(redirectURI: own), at: issuer, in: .uid(1))
      #expect(isAllowed)
    } catch {
      #expect(!isAllowed && "\(error)".contains("redirect URI of its own"))
    }
  }

  @Test("a callback in another browser than the one that began the login fails, and leaves both logins as they were")
  func foreignCallback() async throws {
    let bench = try Bench()
    let (victim, attacker) = (try await bench.begin(), try await bench.begin())
    for kept in [victim, "", "x", String(attacker.dropLast()), attacker + "x", attacker.uppercased()] {
      let error = await #expect(throws: SessionError.self) { try await bench.complete(attacker, kept: kept) }
      #expect(error?.fault == "state_mismatch" && error?.isRetryable == false)
      guard case .authorizationFailed? = error?.kind else {
        Issue.record("\(String(describing: error))")
        continue
      }
    }
    // An unknown state of another browser is no way to learn which states are under way.
    let unknown = await #expect(throws: SessionError.self) { try await bench.complete("unknown", kept: victim) }
    #expect(unknown?.fault == "state_mismatch")
    #expect(bench.tokenRequests == 0)
    _ = try await bench.complete(victim)
    _ = try await bench.complete(attacker)
  }

  @Test("a login replaces a session of another uid, or ends the browser's earlier one before it has succeeded")
  func replaced() async throws {
    let bench = try Bench()
    let others = try await bench.complete(bench.begin(uid: 2), uid: 2)
    let own = try await bench.complete(bench.begin())
    let state = try await bench.begin()
    bench.answers.withLock { $0 = [.success(.json(#"{"error":"invalid_grant"}"#, status: 400))] }
    await #expect(throws: SessionError.self) { try await bench.complete(state, replacing: own.handle) }
    let end = own.expiresAt
    #expect(try await bench.sessions.session(own.handle, in: .uid(1)).expiresAt == end)
    _ = try await bench.complete(bench.begin(), replacing: others.handle)
    #expect(try await bench.sessions.session(others.handle, in: .uid(2)).expiresAt == others.expiresAt)
    // No ID token says whose they are: they may be of one login at the issuer.
    _ = try await bench.complete(bench.begin(), replacing: own.handle)
    let left = try await bench.sessions.session(own.handle, in: .uid(1)).expiresAt.map { $0 - bench.clock.wallNow }
    #expect(left == .seconds(60))
    func token() async throws(SessionError) -> AccessToken {
      try await bench.sessions.token(of: own.handle, at: bench.issuer, in: .uid(1))
    }
    _ = try await token()
    // The issuer's token would live longer.
    bench.clock.advance(by: .seconds(60))
    let ended = await #expect(throws: SessionError.self) { try await token() }
    guard case .expired? = ended?.kind else {
      Issue.record("\(String(describing: ended))")
      return
    }
    while try await bench.store.purge(expiredAt: bench.clock.wallNow + .seconds(1)) > 0 {}
    #expect(try await bench.store.record(for: own.handle.key) == nil)
  }

  @Test(
    "the earlier session of a browser is ended at its issuer although the new one may be of the same login, or is left",
    arguments: [
      (Earlier(sid: "1"), "1", true), (Earlier(sid: "1"), "2", false), (Earlier(sid: "1"), nil, true),
      (Earlier(sid: nil), "1", true), (Earlier(sid: nil), nil, true), (Earlier(sid: "1", age: 60), "2", true),
      (Earlier(sid: "1", age: 61), "2", false), (Earlier(issuer: "admin", sid: "1"), "1", true),
      (Earlier(issuer: "admin", subject: "pairwise", sid: "1"), "1", true),
      (Earlier(issuer: "admin", sid: "1"), "2", false), (Earlier(identifier: "https://b.test", sid: "1"), "1", false),
      (Earlier(subject: "bob", sid: "1"), "1", false), (Earlier(subject: "bob"), nil, false),
      (Earlier(subject: nil, sid: nil), nil, false),
    ] as [(Earlier, String?, Bool)])
  func needed(earlier: Earlier, sid: String?, isNeeded: Bool) throws {
    let now = Timestamp(secondsSinceEpoch: 1_000_000)
    func contents(_ one: Earlier) throws -> SessionContents {
      let issuer = SessionIssuer(
        issuer: try Issuer(
          name: one.issuer, identifier: one.identifier, clientID: "svc",
          clientAuthentication: ClientSecretBasic(secret: Secret("s")), endpoints: [:],
          usesDPoP: false), tokens: IDTokenConfiguration(issuer: "https://idp.test"),
        keys: StaticJWKSet(JWKSet([])))
      var contents = SessionContents(.random(), at: issuer, kind: .user, createdAt: now + .seconds(-one.age))
      contents.user.subject = one.subject
      contents.user.claims = .object(JSONObject(one.sid.map { [("sid", .string($0))] } ?? []))
      return contents
    }
    let new = try contents(Earlier(sid: sid, age: 0))
    #expect(try contents(earlier).mayBeNeeded(beside: new, within: .seconds(60)) == isNeeded)
  }

  struct Earlier: Sendable {
    var issuer = "corp"
    var identifier = "https://idp.test"
    var subject: String? = "alice"
    var sid: String?
    var age = 3600
  }

  @Test(
    "a token endpoint that did not answer does not cost the login: the same callback is good again",
    arguments: [
      Result<HTTPResponse, TransportError>.success(.status(503)),
      .failure(TransportError(code: .serverUnreachable, outcome: .notSent, detail: "")),
    ])
  func givenBack(answer: Result<HTTPResponse, TransportError>) async throws {
    let bench = try Bench()
    let state = try await bench.begin()
    bench.answers.withLock { $0 = [answer] }
    await #expect(throws: SessionError.self) { try await bench.complete(state) }
    _ = try await bench.complete(state)
    await #expect(throws: SessionError.self) { try await bench.complete(state) }
    #expect(bench.tokenRequests == 2)
  }

  @Test("a code is not sent while there are no keys to judge the ID token with, nor while nothing can be stored")
  func nothingSent() async throws {
    let bench = try Bench(scope: "openid")
    let state = try await bench.begin()
    let error = await #expect(throws: SessionError.self) { try await bench.complete(state) }
    guard case .unreachable? = error?.kind else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(bench.tokenRequests == 0)
    let again = await #expect(throws: SessionError.self) { try await bench.complete(state) }
    if case .stateUnknown? = again?.kind { Issue.record("the state was spent without a request") }
  }

  @Test(
    "a rejection of the code, and a callback that is wrong, end the authorization",
    arguments: [
      ("code=c", true), ("error=access_denied", false), ("code=c&iss=https://other.test", false), ("", false),
    ])
  func spent(query: String, isSent: Bool) async throws {
    let bench = try Bench()
    let state = try await bench.begin()
    bench.answers.withLock { $0 = [.success(.json(#"{"error":"invalid_grant"}"#, status: 400))] }
    await #expect(throws: SessionError.self) { try await bench.complete(state, query) }
    #expect(bench.tokenRequests == (isSent ? 1 : 0))
    let error = await #expect(throws: SessionError.self) { try await bench.complete(state) }
    guard case .stateUnknown? = error?.kind else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test("RFC 9207: where the metadata promise `iss` a callback without it is rejected, even if the metadata are gone")
  func missingIssuer() async throws {
    let bench = try Bench(#","authorization_response_iss_parameter_supported":true"#)
    let state = try await bench.begin()
    bench.metadata.withLock { $0 = "broken" }
    bench.clock.advance(by: .seconds(599))
    let error = await #expect(throws: SessionError.self) { try await bench.complete(state) }
    #expect(error?.upstreamCode == "missing_iss" && bench.tokenRequests == 0)
    bench.metadata.withLock { $0 = #","authorization_response_iss_parameter_supported":true"# }
    _ = try await bench.complete(try await bench.begin(), "code=c&iss=https://idp.test")
  }

  @Test(
    "without metadata an `iss` that is there must be the issuer's",
    arguments: [
      ("code=c", true), ("code=c&iss=https://idp.test", true), ("code=c&iss=https://idp.test/", false),
    ])
  func configuredEndpoints(query: String, isGood: Bool) async throws {
    let bench = try Bench(
      endpoints: [.authorization: "https://idp.test/authorize", .token: "https://idp.test/token"])
    let state = try await bench.begin()
    if isGood {
      _ = try await bench.complete(state, query)
    } else {
      await #expect(throws: SessionError.self) { try await bench.complete(state, query) }
    }
  }

  @Test(
    "an issuer that supports PKCE, but not with S256, gets no request",
    arguments: [
      (#"["plain"]"#, false), ("[]", false), (#"["plain","S256"]"#, true),
    ])
  func proofKeys(methods: String, isGood: Bool) async throws {
    let bench = try Bench(#","code_challenge_methods_supported":\#(methods)"#)
    guard !isGood else {
      _ = try await bench.begin()
      return
    }
    let error = await #expect(throws: SessionError.self) { try await bench.begin() }
    guard case .grantNotSupported? = error?.kind else {
      Issue.record("\(String(describing: error))")
      return
    }
  }
}
