import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

/// An authorization that the access manager suspends for advice: it is continued as the same request, once, and at the
/// same endpoint only.
@Suite struct SuspendedAuthorizationTests {
  private static let redirectURI = "https://shop.test/callback"
  private static let sso = "AQIC5w.*AAJTSQACMDE.*"
  private static let authorize = "/am/oauth2/realms/root/realms/alpha/authorize"
  private static let here = "https://am.test" + authorize

  /// An access manager that holds each authorization up for one transaction.
  private struct Bench: Sendable {
    let grants: GrantBench
    let issuer: SessionIssuer
    let journeys: Journeys
    /// The number of authorizations that are still to be suspended.
    let holds = Locked(1)
    /// Writes the `goto` from the query of the suspended request.
    let location = Locked<@Sendable (String) -> String>({ "\(SuspendedAuthorizationTests.here)?\($0)" })
    let login = Locked("https://am.test/am/UI/Login")
    let token = Locked(SuspendedAuthorizationTests.sso)
    let nonce = Locked<String?>(nil)
    let state = Locked<String?>(nil)

    init() throws {
      grants = try GrantBench()
      issuer = try grants.issuer(
        accessManager: AccessManager(
          baseURL: HTTPURL("https://am.test/am"), realmPath: "/realms/root/realms/alpha", cookieName: "sso",
          redirectURI: SuspendedAuthorizationTests.redirectURI))
      journeys = Journeys(sessions: grants.sessions)
      let bench = self
      grants.answer(SuspendedAuthorizationTests.authorize) { request, form in bench.authorized(request, form) }
      grants.answer("/am/json/realms/root/realms/alpha/authenticate") { _, _ in
        .json(#"{"tokenId":"\#(bench.token.withLock { $0 })","successUrl":"/","realm":"/alpha"}"#)
      }
      let count = Counter()
      grants.answer("/token") { _, form in
        guard form["grant_type"] == "authorization_code" else {
          return .json(#"{"error":"invalid_grant"}"#, status: 400)
        }
        let idToken = (try? bench.grants.idToken(nonce: bench.nonce.withLock { $0 })) ?? ""
        let number = count.next()
        return .json(
          #"{"access_token":"a-\#(number)","token_type":"Bearer","expires_in":300,"refresh_token":"r-\#(number)","id_token":"\#(idToken)"}"#
        )
      }
    }

    private func authorized(_ request: HTTPRequest, _ form: GrantBench.Form) -> HTTPResponse {
      let query = FormEncoding.decode(request.url.query ?? "") ?? []
      func value(_ name: String) -> String { form[name] ?? query.first { $0.name == name }?.value ?? "" }
      let isSuspended = holds.withLock { holds in
        guard holds > 0 else { return false }
        holds -= 1
        return true
      }
      guard isSuspended else {
        nonce.withLock { $0 = value("nonce") }
        return .status(
          302, ("Location", "\(SuspendedAuthorizationTests.redirectURI)?code=c-1&state=\(value("state"))"))
      }
      let kept = form.filter { $0.key != "decision" && $0.key != "csrf" }.sorted { $0.key < $1.key }
      let text = String(decoding: FormEncoding.encode(kept.map { (name: $0.key, value: $0.value) }), as: UTF8.self)
      let xml = CompositeAdvice.xml([PolicyAdvice(type: PolicyAdvice.Name.transaction, value: "tx-1")]) ?? ""
      let members = [
        (name: "realm", value: "/alpha"), (name: "authIndexType", value: "composite_advice"),
        (name: "authIndexValue", value: xml), (name: "goto", value: location.withLock { $0 }(text)),
        (name: "oauthObjectKey", value: "k"),
      ]
      let location = "\(login.withLock { $0 })?\(String(decoding: FormEncoding.encode(members), as: UTF8.self))"
      return .status(302, ("Location", location))
    }

    func create() async throws(SessionError) -> Session {
      try await grants.sessions.create(from: .sso(Secret(SuspendedAuthorizationTests.sso)), at: issuer, in: .uid(1))
    }

    /// Returns the authorization that suspends a new session.
    func suspended() async throws -> SuspendedAuthorization {
      let fault = await GrantBench.fault { _ = try await create() }
      guard case .adviceRequired(let suspended)? = fault?.kind else {
        throw TestProblem("\(String(describing: fault))")
      }
      return suspended
    }

    func sent() -> [HTTPRequest] { grants.transport.requests(to: SuspendedAuthorizationTests.here) }

    func signOff() -> [HTTPRequest] {
      grants.transport.requests(to: "https://am.test/am/json/realms/root/realms/alpha/sessions")
    }
  }

  private struct TestProblem: Error {
    let text: String
    init(_ text: String) { self.text = text }
  }

  private static func session(_ outcome: JourneyOutcome) throws -> SessionHandle {
    guard case .completed(let end) = outcome, let session = end.session else { throw TestProblem("\(outcome)") }
    return session
  }

  @Test("a suspended authorization is continued as the same request, with consent once more and no parameter twice")
  func goesOn() async throws {
    let bench = try Bench()
    let suspended = try await bench.suspended()
    #expect(suspended.advices.map(\.txId) == ["tx-1"])
    #expect(!"\(suspended)".contains("tx-1") && Mirror(reflecting: suspended).children.isEmpty)
    let outcome = try await bench.journeys.begin(.signOn(suspended), at: bench.issuer, in: .uid(1))
    _ = try Self.session(outcome)
    let forms = bench.grants.sent(to: Self.authorize)
    #expect(forms.count == 2 && Set(forms[1].keys) == ["decision", "csrf"] && forms[1]["csrf"] == Self.sso)
    let query = FormEncoding.decode(bench.sent()[1].url.query ?? "") ?? []
    #expect(Set(query.map(\.name)) == Set(forms[0].keys).subtracting(["decision", "csrf"]))
    #expect(query.allSatisfy { forms[0][$0.name] == $0.value })
  }

  @Test("a goto without the request's parameters gets them in the body; consent that it repeats is dropped from it")
  func bareGoto() async throws {
    for extra in ["", "?oauthObjectKey=k", "?decision=allow&csrf=\(Self.sso)"] {
      let bench = try Bench()
      bench.location.withLock { $0 = { _ in Self.here + extra } }
      let suspended = try await bench.suspended()
      _ = try Self.session(try await bench.journeys.begin(.signOn(suspended), at: bench.issuer, in: .uid(1)))
      let forms = bench.grants.sent(to: Self.authorize)
      #expect(forms[1] == forms[0])
      #expect(bench.sent()[1].url.query?.contains("csrf") != true)
    }
  }

  @Test(
    "a goto that is not this very request is not followed, and no user gets advice",
    arguments: [
      "https://evil.test/am/oauth2/realms/root/realms/alpha/authorize?QUERY", "http://am.test\(authorize)?QUERY",
      "https://am.test:8443\(authorize)?QUERY", "https://am.test.evil.test\(authorize)?QUERY",
      "https://am.test@evil.test\(authorize)?QUERY", "//evil.test\(authorize)?QUERY",
      "https://am.test/am/oauth2/realms/root/realms/beta/authorize?QUERY", "https://am.test/am/?QUERY",
      "\(here)/../token?QUERY", "\(here)?QUERY&client_id=shop", "\(here)?client_id=other", "\(here)?state=other",
      "\(here)?redirect_uri=https%3A%2F%2Fevil.test%2F", "\(here)?code_challenge=x", "\(here)?scope=admin",
      "\(here)?QUERY&request_uri=urn%3Ax", "\(here)?QUERY&request=x", "\(here)?QUERY&response_mode=form_post",
      "\(here)?state=%zz", "", "javascript:alert(1)",
    ])
  func strayGoto(location: String) async throws {
    let bench = try Bench()
    bench.location.withLock { $0 = { location.replacing("QUERY", with: $0) } }
    let fault = await GrantBench.fault { _ = try await bench.create() }
    #expect(fault?.upstreamCode == "invalid_goto")
    #expect(bench.grants.events.names.contains("troubled"), "an operator hears of it")
    #expect(bench.grants.transport.requests.allSatisfy { $0.url.origin.host == "am.test" })
    #expect(bench.sent().count == 1)
  }

  @Test("a login page at another origin is not followed", arguments: ["https://evil.test/am/UI/Login", "//evil.test/"])
  func strayLogin(login: String) async throws {
    let bench = try Bench()
    bench.login.withLock { $0 = login }
    let fault = await GrantBench.fault { _ = try await bench.create() }
    #expect(fault?.upstreamCode == "redirect_uri_mismatch" && bench.grants.events.names.contains("troubled"))
  }

  @Test("advice after the advice is one too many: a loop ends with the second request")
  func second() async throws {
    let bench = try Bench()
    bench.holds.withLock { $0 = 100 }
    let suspended = try await bench.suspended()
    do {
      _ = try await bench.journeys.begin(.signOn(suspended), at: bench.issuer, in: .uid(1))
      Issue.record("there is no session")
    } catch {
      guard case .session(let inner) = error.kind else { throw error }
      #expect(inner.upstreamCode == "interaction_required")
    }
    #expect(bench.sent().count == 2 && bench.signOff().isEmpty, "the token is the caller's own")
  }

  @Test(
    "a suspended refresh is one request to the access manager, for all its callers, and is released by its advice")
  func refresh() async throws {
    let bench = try Bench()
    bench.holds.withLock { $0 = 0 }
    let session = try await bench.create()
    bench.holds.withLock { $0 = 1 }
    bench.grants.clock.advance(by: .seconds(400))
    for _ in 0..<3 {
      let fault = await GrantBench.fault {
        _ = try await bench.grants.sessions.token(of: session.handle, at: bench.issuer, in: .uid(1))
      }
      guard case .adviceRequired? = fault?.kind else { throw TestProblem("\(String(describing: fault))") }
    }
    #expect(bench.sent().count == 2, "the first of them sent the request")
    let advice = PolicyAdvice(type: PolicyAdvice.Name.transaction, value: "tx-1")
    let request = try #require(JourneyRequest.stepUp(session.handle, advices: [advice]))
    guard case .completed(let end) = try await bench.journeys.begin(request, at: bench.issuer, in: .uid(1)) else {
      throw TestProblem("not completed")
    }
    #expect(end.isUpgraded && end.txId == "tx-1")
    let token = try await bench.grants.sessions.token(of: session.handle, at: bench.issuer, in: .uid(1))
    #expect(token.value.reveal() == "a-2" && bench.sent().count == 3)
    #expect(bench.signOff().isEmpty, "the login is the one it was")
  }

  @Test("what holds a refresh up is forgotten with the transaction's time, and with its rejection")
  func forgotten() async throws {
    let bench = try Bench()
    bench.holds.withLock { $0 = 0 }
    let session = try await bench.create()
    bench.holds.withLock { $0 = 100 }
    func ask() async {
      _ = await GrantBench.fault {
        _ = try await bench.grants.sessions.token(of: session.handle, at: bench.issuer, in: .uid(1))
      }
    }
    bench.grants.clock.advance(by: .seconds(400))
    await ask()
    bench.grants.clock.advance(by: .seconds(200))
    await ask()
    #expect(bench.sent().count == 3)
    bench.grants.answer("/am/json/realms/root/realms/alpha/authenticate") { _, _ in
      .json(#"{"code":401,"message":"Unable to read transaction.","detail":{"errorCode":"128"}}"#, status: 401)
    }
    let advice = PolicyAdvice(type: PolicyAdvice.Name.transaction, value: "tx-1")
    let request = try #require(JourneyRequest.stepUp(session.handle, advices: [advice]))
    await #expect(throws: JourneyError.self) {
      _ = try await bench.journeys.begin(request, at: bench.issuer, in: .uid(1))
    }
    await ask()
    #expect(bench.sent().count == 4)
  }

  @Test("after a step-up old tokens are revoked, the old login ended once by its own cookie, behind the new ones")
  func retirement() async throws {
    let bench = try Bench()
    bench.holds.withLock { $0 = 0 }
    let session = try await bench.create()
    bench.token.withLock { $0 = "newer" }
    let advice = PolicyAdvice(type: PolicyAdvice.Name.service, value: "Otp")
    let request = try #require(JourneyRequest.stepUp(session.handle, advices: [advice]))
    _ = try await bench.journeys.begin(request, at: bench.issuer, in: .uid(1))
    #expect(await eventually { bench.grants.sent(to: "/revoke").count >= 2 && !bench.signOff().isEmpty })
    #expect(Set(bench.grants.sent(to: "/revoke").map { $0["token"] }) == ["r-1", "a-1"])
    #expect(bench.signOff().map { $0.fields["Cookie"] } == ["sso=\(Self.sso)"])
    let paths = bench.grants.transport.requests.map(\.url.path)
    let exchange = try #require(paths.lastIndex(of: "/token"))
    #expect(try #require(paths.firstIndex(of: "/revoke")) > exchange)
    let token = try await bench.grants.sessions.token(of: session.handle, at: bench.issuer, in: .uid(1))
    #expect(token.value.reveal() == "a-2")
  }

  @Test("a step-up without new tokens takes none of the old ones away")
  func failedStepUp() async throws {
    let bench = try Bench()
    bench.holds.withLock { $0 = 0 }
    let session = try await bench.create()
    bench.token.withLock { $0 = "newer" }
    bench.grants.answer("/token") { _, _ in .status(503) }
    let advice = PolicyAdvice(type: PolicyAdvice.Name.service, value: "Otp")
    let request = try #require(JourneyRequest.stepUp(session.handle, advices: [advice]))
    await #expect(throws: JourneyError.self) {
      _ = try await bench.journeys.begin(request, at: bench.issuer, in: .uid(1))
    }
    for _ in 0..<100 { await Task.yield() }
    #expect(bench.grants.sent(to: "/revoke").isEmpty)
    #expect(bench.signOff().allSatisfy { $0.fields["Cookie"] == "sso=\(Self.sso)" }, "the newer login is the session's")
    let token = try await bench.grants.sessions.token(of: session.handle, at: bench.issuer, in: .uid(1))
    #expect(token.value.reveal() == "a-1")
  }
}
