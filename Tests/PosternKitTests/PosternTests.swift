import AuthEngine
import HTTPMessages
import PosternJSON
import PosternKit
import PosternSupport
import PosternTestSupport
import Testing

/// The servers of the tests: an issuer, a resource server, an OPA.
private func answers(_ request: HTTPRequest) -> HTTPResponse {
  switch request.url.path {
  case "/token":
    HTTPResponse(
      status: 200, fields: ["Content-Type": "application/json"],
      body: Array(#"{"access_token":"at-1","token_type":"Bearer","expires_in":3600}"#.utf8))
  case "/revoke": HTTPResponse(status: 200, fields: [:], body: [])
  case "/v1/data/shop":
    HTTPResponse(status: 200, fields: ["Content-Type": "application/json"], body: Array(#"{"result":{"a":true}}"#.utf8))
  default: HTTPResponse(status: 200, fields: ["Content-Type": "text/plain"], body: Array("hello".utf8))
  }
}

private let issuer: JSONObject = [
  "corp": [
    "issuer": "https://corp.test", "clientId": "app", "clientSecret": "s3cret",
    "endpoints": [
      "token": "https://corp.test/token", "revocation": "https://corp.test/revoke",
      "authorization": "https://corp.test/authorize",
    ],
  ]
]

private let configuration: JSONObject = [
  "issuers": .object(issuer),
  "resources": [
    "time": ["baseUrl": "https://time.test/", "auth": "none"],
    "orders": ["baseUrl": "https://orders.test/", "issuer": "corp", "auth": "user"],
    "jobs": ["baseUrl": "https://jobs.test/", "issuer": "corp", "auth": "clientCredentials"],
  ],
  "preauthorization": [
    "shop": ["kind": "opa", "baseUrl": "https://opa.test/", "path": "shop", "issuer": "corp"],
    "open": ["kind": "opa", "baseUrl": "https://opa.test/", "path": "shop"],
  ],
]

private let tokens: SessionGrant = {
  var given = SessionGrant.GivenTokens()
  given.accessToken = Secret("user-token")
  given.expiresIn = 3600
  return .tokens(given)
}()

private func options(_ transport: ScriptedTransport, store: MemoryRecordStore? = nil) -> Postern.Options {
  var options = Postern.Options()
  options.transport = transport
  options.environment = [:]
  options.storage = PosternEngine.SessionStorage(store ?? MemoryRecordStore())
  return options
}

private func scripted() -> ScriptedTransport {
  ScriptedTransport { request, _ throws(TransportError) in answers(request) }
}

@Suite("Postern in a program's own process")
struct PosternTests {
  private let transport = scripted()

  private func postern(_ configuration: JSONObject = configuration) async throws -> Postern {
    try await Postern(configuration: configuration, options: options(transport))
  }

  @Test("A program does not learn that its debugger check, or its audit log, is the sidecar's alone")
  func sidecarKeys() async throws {
    let hardening: JSONObject = ["debuggerCheck": true, "pinsRequired": true]
    let postern = try await Postern(configuration: ["hardening": .object(hardening), "peers": [], "validation": [:]])
    #expect(
      postern.warnings == ["peers, validation, hardening.debuggerCheck: no effect in a library, only in the sidecar"])
    #expect(try await Postern(configuration: ["hardening": ["pinsRequired": true]]).warnings == [])
  }

  @Test("an anonymous fetch has no token: catches a request that is authenticated by the wrong rule")
  func anonymous() async throws {
    let response = try await postern().fetch("now", from: "time")
    #expect(response.text == "hello")
    let sent = try #require(transport.requests.first)
    #expect("\(sent.url)" == "https://time.test/now" && sent.fields["Authorization"] == nil)
    #expect(sent.fields["User-Agent"]?.hasPrefix("postern/") == true)
  }

  @Test("a resource with client credentials gets the application's token, once for two fetches")
  func clientCredentials() async throws {
    let postern = try await postern()
    for _ in 0..<2 { _ = try await postern.fetch("run", from: "jobs") }
    #expect(transport.requests(to: "https://corp.test/token").count == 1)
    #expect(transport.requests(to: "https://jobs.test/").allSatisfy { $0.fields["Authorization"] == "Bearer at-1" })
  }

  @Test("a user's fetch uses the session that it names, and sends nothing for nobody while one user is logged in")
  func user() async throws {
    let postern = try await postern()
    #expect(try await postern.sessions.only() == nil)
    let session = try await postern.sessions.create(from: tokens)
    let error = await #expect(throws: ResourceError.self) { try await postern.fetch("7", from: "orders") }
    #expect(error?.code == .notAuthenticated && transport.requests.isEmpty)
    let journey = await #expect(throws: JourneyError.self) { try await postern.journeys.stepUpInBrowser(with: []) }
    #expect(journey.map { "\($0)" }?.contains("no session is named") == true)
    #expect(try await postern.sessions.only() == session.handle)
    _ = try await postern.fetch("7", from: "orders", session: try await postern.sessions.only())
    #expect(transport.requests(to: "https://orders.test/").last?.fields["Authorization"] == "Bearer user-token")
    try await postern.sessions.end(session.handle)
    let end = await #expect(throws: ResourceError.self) {
      try await postern.fetch("7", from: "orders", session: session.handle)
    }
    #expect(end?.code == .sessionNotFound)
    #expect(try await postern.sessions.all().isEmpty)
  }

  @Test("a session of another uid in the same store is not there: catches a call that forgets the uid")
  func twoUsers() async throws {
    let store = MemoryRecordStore()
    var (mine, others) = (options(transport, store: store), options(transport, store: store))
    (mine.uid, others.uid) = (1000, 1001)
    let first = try await Postern(configuration: configuration, options: mine)
    let second = try await Postern(configuration: configuration, options: others)
    let session = try await first.sessions.create(from: tokens).handle
    #expect(try await second.sessions.all().isEmpty)
    let fetch = await #expect(throws: ResourceError.self) {
      try await second.fetch("7", from: "orders", session: session)
    }
    #expect(fetch?.code == .sessionNotFound && transport.requests(to: "https://orders.test/").isEmpty)
    await #expect(throws: SessionError.self) { try await second.sessions.end(session) }
    await #expect(throws: JourneyError.self) {
      try await second.authenticate(
        with: [PolicyAdvice(type: "AuthLevelConditionAdvice", value: "10")], session: session)
    }
    #expect(await !second.preauthorize(["a"], session: session).decisions.contains(where: \.isAuthorized))
    #expect(try await first.sessions.all().map(\.handle) == [session])
  }

  @Test("advice of a user who is not logged in is a login at the issuer's access manager, with nobody's cookie")
  func adviceAsLogin() async throws {
    var issuers = issuer
    issuers["am"] = [
      "issuer": "https://am.test/am/oauth2", "clientId": "app", "clientSecret": "s3cret",
      "redirectUri": "http://127.0.0.1/back",
      "endpoints": ["token": "https://am.test/token", "authorization": "https://am.test/authorize"],
      "accessManager": ["baseUrl": "https://am.test/am", "realm": "alpha", "cookieName": "sso"],
    ]
    let postern = try await postern(["issuers": .object(issuers)])
    let advice = PolicyAdvice(type: "AuthenticateToServiceConditionAdvice", value: "/alpha:Login")
    // The double has no tree: what counts is what was asked.
    await #expect(throws: JourneyError.self) { try await postern.authenticate(with: advice, at: "am") }
    let sent = try #require(transport.requests(to: "https://am.test/am/json/").last)
    #expect(sent.url.query?.contains("authIndexType=composite_advice") == true && sent.fields["Cookie"] == nil)
    let unknown = await #expect(throws: JourneyError.self) { try await postern.authenticate(with: advice, at: "an") }
    #expect(unknown.map { "\($0)" }?.contains("am") == true)
  }

  @Test("names that are not configured are errors with a suggestion; without a name several resources are one, too")
  func names() async throws {
    let postern = try await postern()
    let wrong = await #expect(throws: ResourceError.self) { try await postern.fetch("7", from: "order") }
    #expect(wrong?.detail.contains("orders") == true && wrong?.path?.jsonPointer == "/resource")
    let none = await #expect(throws: ResourceError.self) { try await postern.fetch("7") }
    #expect(none?.code == .invalidParams)
    let issuer = await #expect(throws: SessionError.self) {
      try await postern.sessions.create(from: tokens, at: "corb")
    }
    #expect(issuer?.detail.contains("corp") == true)
    #expect(transport.requests.isEmpty)
  }

  @Test("a configuration with a mistake is rejected with its key, and with every mistake at once")
  func mistakes() async throws {
    let error = await #expect(throws: ConfigurationProblems.self) {
      try await postern(["resources": ["time": ["baseUrl": "ftp://time.test/", "auth": "sometimes"]]])
    }
    #expect(Set(error?.problems.map(\.keyPath) ?? []) == ["resources.time.auth", "resources.time.baseUrl"])
  }

  @Test(
    "preauthorize fails closed without a session and at an unknown decision point, and permits by a known one's word")
  func decisions() async throws {
    let postern = try await postern()
    for response in [
      await postern.preauthorize(["a"]), await postern.preauthorize(["a"], at: "shop"),
      await postern.preauthorize(["a"], at: "shops"),
    ] {
      #expect(response.decisions.isEmpty && response.outcome == .failure && response.status != nil)
    }
    // A session without an ID token has no subject.
    _ = try await postern.sessions.create(from: tokens)
    #expect(await postern.preauthorize(["a"], at: "shop").decisions.isEmpty)
    #expect(transport.requests(to: "https://opa.test/").isEmpty)
    let subject = DecisionSubject(id: "alice")
    let response = await postern.preauthorize(PreauthorizeRequest(resources: ["a"]), at: "open", subject: subject)
    #expect(response.decisions.map(\.isAuthorized) == [true])
    let enabler = try postern.accessEnabler(at: "open", subject: subject)
    #expect(
      await enabler.preauthorize(PreauthorizeRequest(resources: ["a"])).getDecisions().first?.isAuthorized == true)
    #expect(throws: SessionError.self) { try postern.accessEnabler(at: "shops") }
  }

  @Test(
    "a subject or a session that the decision point does not take permits nothing: catches a decision about another user"
  )
  func subjects() async throws {
    let postern = try await postern()
    let session = try await postern.sessions.create(from: tokens).handle
    let request = PreauthorizeRequest(resources: ["a"])
    for response in [
      await postern.preauthorize(request, at: "shop", session: session, subject: DecisionSubject(id: "alice")),
      await postern.preauthorize(request, at: "open", session: session, subject: DecisionSubject(id: "alice")),
      await postern.preauthorize(request, at: "open", subject: DecisionSubject(id: "")),
    ] {
      #expect(response.decisions.isEmpty && response.outcome == .failure)
    }
    #expect(transport.requests(to: "https://opa.test/").isEmpty)
    _ = await postern.preauthorize(request, at: "open", subject: DecisionSubject(id: "alice", uid: 4711))
    #expect(postern.invalidateDecisions() == 1)
  }

  @Test("a session goes with a user's token only: catches a token of another strength, or a session that is ignored")
  func kinds() async throws {
    var open = configuration
    open["tokens"] = ["leaveTheSidecar": true]
    var corp = try #require(issuer["corp"]?.objectValue)
    corp["implicit"] = ["grant": "token_exchange"]
    open["issuers"] = ["corp": .object(corp)]
    open["preauthorization"] = nil
    open["resources"] = [
      "jobs": ["baseUrl": "https://jobs.test/", "issuer": "corp", "auth": "clientCredentials"],
      "quiet": ["baseUrl": "https://quiet.test/", "issuer": "corp", "auth": "implicit"],
    ]
    let postern = try await postern(open)
    let session = try await postern.sessions.create(from: tokens).handle
    for resource in ["jobs", "quiet"] {
      await #expect(throws: SessionError.self) {
        try await postern.tokens.accessToken(for: resource, session: session)
      }
    }
    var options = FetchOptions(authentication: .user)
    options.session = SessionRef.only(at: try await issuerOfTests(postern), sessions: postern.engine.sessions)
    let error = await #expect(throws: ResourceError.self) {
      try await postern.fetch(ResourceRequest(path: "7"), from: "jobs", session: session, options: options)
    }
    #expect(error?.code == .invalidParams && transport.requests.isEmpty)
  }

  private func issuerOfTests(_ postern: Postern) async throws -> SessionIssuer {
    let issuer = try Issuer(
      name: "corp", identifier: "https://corp.test", clientID: "app",
      clientAuthentication: ClientSecretBasic(secret: Secret("s3cret")))
    return postern.engine.sessionIssuer(issuer)
  }

  @Test("an absent ID token is an invalid one; an unknown issuer is an error, not a verdict")
  func idTokens() async throws {
    let postern = try await postern()
    #expect(try await !postern.validateIDToken(nil).isValid)
    await #expect(throws: SessionError.self) { try await postern.validateIDToken("a.b.c", issuer: "corb") }
    #expect(transport.requests.isEmpty)
  }

  @Test("tokens stay inside unless the configuration lets them leave")
  func tokensLeave() async throws {
    let error = await #expect(throws: SessionError.self) { try await postern().tokens.accessToken(for: "jobs") }
    #expect(error?.detail.contains("tokens.leaveTheSidecar") == true && transport.requests.isEmpty)
    var open = configuration
    open["tokens"] = ["leaveTheSidecar": true]
    let token = try await postern(open).tokens.accessToken(for: "jobs")
    #expect(token.value.reveal() == "at-1")
    await #expect(throws: SessionError.self) { try await postern(open).tokens.accessToken(for: "time") }
  }

  @Test("a Postern that is dropped is gone: catches a background task that keeps it, and its connections, for ever")
  func dropped() async throws {
    weak var gone: Postern?
    do {
      let postern = try await postern()
      gone = postern
      _ = try await postern.fetch("now", from: "time")
    }
    #expect(gone == nil)
  }
}
