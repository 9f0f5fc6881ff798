import AuthEngine
import EngineTestSupport
import HTTPMessages
import OAuthClient
import PosternSupport
import PosternTestSupport
import Testing

/// Sessions from a single sign-on token, and their refresh: the token goes nowhere but to the access manager, and an
/// outage never logs anybody out.
@Suite struct SSOTests {
  private static let redirectURI = "https://shop.test/callback"
  private static let sso = "AQIC5w.*AAJTSQACMDE.*"

  /// An access manager that returns codes, unless a test sets something else.
  private struct Bench: Sendable {
    let grants: GrantBench
    let issuer: SessionIssuer
    let nonce = Locked<String?>(nil)

    init(cookieName: String? = "sso", redirectURI: String? = SSOTests.redirectURI) throws {
      grants = try GrantBench()
      issuer = try grants.issuer(
        accessManager: AccessManager(
          baseURL: HTTPURL("https://am.test/am"), realmPath: "/realms/root/realms/alpha", cookieName: cookieName,
          redirectURI: redirectURI))
      grants.answer("/am/json/serverinfo/*") { _, _ in .json(#"{"cookieName":"tenant-cookie"}"#) }
      answerCodes()
      answerTokens()
    }

    /// Returns codes for the user who is signed on; `location` writes the redirect from the request's form.
    func answerCodes(_ location: (@Sendable (GrantBench.Form) -> String)? = nil) {
      let nonce = nonce
      grants.answer("/am/oauth2/realms/root/realms/alpha/authorize") { _, form in
        nonce.withLock { $0 = form["nonce"] }
        let usual = "\(SSOTests.redirectURI)?code=c-1&state=\(form["state"] ?? "")"
        return .status(302, ("Location", location?(form) ?? usual))
      }
    }

    func answerTokens(_ subject: String = "user-1", refreshToken: String? = nil, named prefix: String = "a") {
      let grants = grants
      let nonce = nonce
      let count = Counter()
      grants.answer("/token") { _, form in
        let number = count.next()
        let idToken = (try? grants.idToken(subject, nonce: nonce.withLock { $0 })) ?? ""
        let refresh = refreshToken.map { #","refresh_token":"\#($0)""# } ?? ""
        return .json(
          #"{"access_token":"\#(prefix)-\#(number)","token_type":"Bearer","expires_in":300,"id_token":"\#(idToken)"\#(refresh)}"#
        )
      }
    }

    func session() async throws(SessionError) -> Session {
      try await grants.sessions.create(from: .sso(Secret(SSOTests.sso)), at: issuer, in: .uid(1))
    }

    func token(_ session: Session, scope: String? = nil) async throws(SessionError) -> String {
      try await grants.sessions.token(
        TokenNeed(scope: scope), of: session.handle, at: issuer, in: .uid(1)
      ).value.reveal()
    }

    var authorizations: [GrantBench.Form] { grants.sent(to: "/am/oauth2/realms/root/realms/alpha/authorize") }
  }

  @Test(
    "the request is an authorization with PKCE, state, nonce and consent, the token in the cookie, and nowhere else")
  func request() async throws {
    let bench = try Bench()
    let session = try await bench.session()
    #expect(session.kind == .user && session.subject == "user-1" && session.expiresAt == nil)
    let form = try #require(bench.authorizations.first)
    #expect(form["response_type"] == "code" && form["client_id"] == "shop" && form["scope"] == "openid orders")
    #expect(form["redirect_uri"] == Self.redirectURI && form["code_challenge_method"] == "S256")
    #expect(form["decision"] == "allow" && form["csrf"] == Self.sso)
    #expect(form["state"]?.count == 43 && form["nonce"] != nil && form["code_challenge"]?.count == 43)
    let exchange = try #require(bench.grants.sent().first)
    #expect(exchange["grant_type"] == "authorization_code" && exchange["code"] == "c-1")
    #expect(exchange["code_verifier"]?.count == 43)
    for request in bench.grants.transport.requests {
      let carries = request.fields["Cookie"] != nil
      #expect(carries == (request.url.origin.host == "am.test"), "\(request.url.withoutQuery)")
      if carries { #expect(request.fields["Cookie"] == "sso=\(Self.sso)" && request.fields["sso"] == Self.sso) }
    }
  }

  @Test("the cookie's name is requested from the server once, when it is not configured")
  func cookieName() async throws {
    let bench = try Bench(cookieName: nil)
    _ = try await bench.session()
    _ = try await bench.session()
    #expect(bench.grants.transport.requests(to: "https://am.test/am/json/serverinfo/").count == 1)
    #expect(bench.grants.transport.requests.contains { $0.fields["Cookie"] == "tenant-cookie=\(Self.sso)" })
    bench.grants.answer("/am/json/serverinfo/*") { _, _ in .json(#"{"cookieName":"a b"}"#) }
    bench.grants.clock.advance(by: .seconds(7200))
    let fault = await GrantBench.fault { _ = try await bench.session() }
    #expect(fault != nil)
  }

  @Test(
    "an invalid redirect creates no session, and the reason is reported",
    arguments: [
      ("\(redirectURI)?code=c-1&state=other", "state_mismatch"), ("\(redirectURI)?code=c-1", "state_mismatch"),
      ("\(redirectURI)?error=access_denied&state=other", "state_mismatch"),
      ("\(redirectURI)?error=access_denied&state=STATE", "access_denied"),
      ("\(redirectURI)?error=login_required&state=STATE", "login_required"),
      ("\(redirectURI)?state=STATE", "missing_code"),
      ("\(redirectURI)?code=c-1&state=STATE&iss=https://other.test", "iss_mismatch"),
      ("https://evil.test/callback?code=c-1&state=STATE", "redirect_uri_mismatch"),
      ("\(redirectURI).evil.test?code=c-1&state=STATE", "redirect_uri_mismatch"),
      ("/am/XUI/#login/", "login_required"), ("https://am.test/am/UI/Login", "login_required"),
      ("/login?goto=https%3A%2F%2Fam.test%2F", "login_required"), ("/maintenance.html", "redirect_uri_mismatch"),
      ("/am/UI/Login?authIndexType=composite_advice&authIndexValue=x&goto=y", "interaction_required"),
    ])
  func redirects(location: String, code: String) async throws {
    let bench = try Bench()
    bench.answerCodes { form in location.replacing("STATE", with: form["state"] ?? "") }
    let fault = await GrantBench.fault { _ = try await bench.session() }
    guard case .authorizationFailed? = fault?.kind else {
      Issue.record("\(String(describing: fault))")
      return
    }
    #expect(fault?.upstreamCode == code)
    #expect(
      bench.grants.sent().isEmpty && bench.grants.transport.requests.allSatisfy { $0.url.origin.host != "evil.test" })
  }

  @Test(
    "other answers than a redirect are told apart: what may pass is an outage",
    arguments: [
      (401, #"{"code":401,"reason":"Unauthorized"}"#, false, "login_required"),
      (401, #"{"error":"login_required"}"#, false, "login_required"),
      (401, "<html>the gateway</html>", false, "authorization_refused"),
      (200, "{}", false, "interaction_required"), (400, #"{"error":"invalid_scope"}"#, false, "invalid_scope"),
      (503, #"{"error":"invalid_scope"}"#, true, "invalid_scope"), (429, #"{"error":"busy"}"#, true, "busy"),
    ])
  func answers(status: Int, body: String, isOutage: Bool, code: String) async throws {
    let bench = try Bench()
    bench.grants.answer("/am/oauth2/realms/root/realms/alpha/authorize") { _, _ in
      .json(body, status: status)
    }
    let fault = await GrantBench.fault { _ = try await bench.session() }
    switch fault?.kind {
    case .unreachable?: #expect(isOutage)
    case .authorizationFailed?: #expect(!isOutage)
    default: Issue.record("\(String(describing: fault))")
    }
    #expect(fault?.upstreamCode == code)
  }

  @Test("an invalid token is reported before it is sent anywhere", arguments: ["", "a b", "a;b", "a\r\nX: y"])
  func unusable(text: String) async throws {
    let bench = try Bench()
    let fault = await GrantBench.fault {
      _ = try await bench.grants.sessions.create(from: .sso(Secret(text)), at: bench.issuer, in: .uid(1))
    }
    guard case .invalid(path: ["ssoToken"])? = fault?.kind else {
      Issue.record("\(String(describing: fault))")
      return
    }
    for issuer in [try bench.grants.issuer(), try Bench(redirectURI: nil).issuer] {
      let fault = await GrantBench.fault {
        _ = try await bench.grants.sessions.create(from: .sso(Secret(Self.sso)), at: issuer, in: .uid(1))
      }
      guard case .grantNotSupported? = fault?.kind else {
        Issue.record("\(String(describing: fault))")
        return
      }
    }
    #expect(bench.grants.transport.requests.isEmpty)
  }

  @Test("without a refresh token a token is refreshed by the single sign-on token, for one resource by itself")
  func refresh() async throws {
    let bench = try Bench()
    let session = try await bench.session()
    bench.grants.clock.advance(by: .seconds(280))
    #expect(try await bench.token(session) == "a-2")
    #expect(try await bench.token(session, scope: "news") == "a-3")
    #expect(bench.authorizations.map { $0["scope"] } == ["openid orders", "openid orders", "openid news"])
  }

  @Test("a refresh token goes first; only invalid_grant makes the single sign-on token the way, and drops the dead one")
  func fallback() async throws {
    let bench = try Bench()
    bench.answerTokens(refreshToken: "r-1")
    let session = try await bench.session()
    for (error, status) in [("temporarily_unavailable", 503), ("server_error", 500), ("invalid_client", 401)] {
      bench.grants.clock.advance(by: .seconds(400))
      bench.grants.answer("/token") { _, _ in .json(#"{"error":"\#(error)"}"#, status: status) }
      #expect(await GrantBench.fault { _ = try await bench.token(session) } != nil)
    }
    #expect(bench.authorizations.count == 1, "an outage is no reason for another way")
    // The pause after failures in a row is over.
    bench.grants.clock.advance(by: .seconds(30))
    bench.answerTokens(named: "b")
    let grants = bench.grants
    let answers = grants.answers.withLock { $0["/token"] }
    grants.answer("/token") { request, form throws(TransportError) in
      guard form["grant_type"] != "refresh_token" else { return .json(#"{"error":"invalid_grant"}"#, status: 400) }
      return try answers?(request, form) ?? .status(500)
    }
    #expect(try await bench.token(session) == "b-1")
    bench.grants.clock.advance(by: .seconds(400))
    #expect(try await bench.token(session) == "b-2")
    #expect(bench.authorizations.count == 3)
    #expect(grants.sent().count { $0["grant_type"] == "refresh_token" } == 4, "a dead token is not presented again")
    #expect(!bench.grants.events.names.contains("ended"))
  }

  @Test("a session ends when the access manager does not know the user any more, not when it is away")
  func ends() async throws {
    let bench = try Bench()
    let session = try await bench.session()
    bench.grants.clock.advance(by: .seconds(400))
    bench.grants.answer("/am/oauth2/realms/root/realms/alpha/authorize") { _, _ throws(TransportError) in
      throw TransportError(code: .serverUnreachable, outcome: .notSent, detail: "")
    }
    let outage = await GrantBench.fault { _ = try await bench.token(session) }
    guard case .unreachable? = outage?.kind else {
      Issue.record("\(String(describing: outage))")
      return
    }
    bench.answerCodes { _ in "https://am.test/am/XUI/#login/" }
    for _ in 0..<2 {
      let ended = await GrantBench.fault { _ = try await bench.token(session) }
      guard case .expired? = ended?.kind else {
        Issue.record("\(String(describing: ended))")
        return
      }
    }
    #expect(bench.grants.events.names == ["ended"])
    #expect(bench.authorizations.count == 3, "no request is sent twice")
  }

  @Test("another user's single sign-on token refreshes no session")
  func anotherUser() async throws {
    let bench = try Bench()
    let session = try await bench.session()
    bench.grants.clock.advance(by: .seconds(400))
    bench.answerTokens("user-2")
    let fault = await GrantBench.fault { _ = try await bench.token(session) }
    guard case .expired? = fault?.kind else {
      Issue.record("\(String(describing: fault))")
      return
    }
    #expect(bench.grants.events.names.contains("ended"))
  }

  @Test("ending the session signs the user off at the access manager")
  func logout() async throws {
    let bench = try Bench()
    let session = try await bench.session()
    let outcome = try await bench.grants.sessions.end(session.handle, at: bench.issuer, in: .uid(1))
    #expect(outcome == .ended)
    let path = "https://am.test/am/json/realms/root/realms/alpha/sessions"
    let request = try #require(bench.grants.transport.requests(to: path).first)
    #expect(request.url.query == "_action=logout" && request.method == "POST")
    #expect(request.fields["Cookie"] == "sso=\(Self.sso)")
  }

  @Test("tokens that come with a single sign-on token are refreshed by it; alone it is exchanged at once")
  func tokens() async throws {
    let bench = try Bench()
    var given = SessionGrant.GivenTokens()
    given.ssoToken = Secret(Self.sso)
    let alone = try await bench.grants.sessions.create(from: .tokens(given), at: bench.issuer, in: .uid(1))
    #expect(alone.subject == "user-1")
    given.accessToken = Secret("given")
    let session = try await bench.grants.sessions.create(from: .tokens(given), at: bench.issuer, in: .uid(1))
    #expect(try await bench.token(session) == "given")
    bench.grants.clock.advance(by: .seconds(400))
    #expect(try await bench.token(session) == "a-2")
  }
}
