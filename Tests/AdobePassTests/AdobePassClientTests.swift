import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@testable import AdobePass
@testable import Entitlements
@testable import SessionRecords

@Suite("Adobe Pass: the registered client")
struct AdobePassClientTests {
  @Test("one registration for any number of calls, and for every later process on the same store")
  func registration() async throws {
    let (server, store) = (AdobePassServer(), MemoryRecordStore())
    let point = try server.point()
    let first = server.engine(store: store)
    await withTaskGroup(of: Void.self) { group in
      for number in 1...20 {
        group.addTask { #expect(await first.ask(["r\(number)"], at: point).decisions.first?.isAuthorized == true) }
      }
    }
    #expect(server.registrations.current == 1 && server.tokens.current == 1)
    // A later process has the token, too, until it ends.
    let (second, later) = (server.engine(store: store), try server.point())
    #expect(await second.ask(["a"], at: later).decisions.first?.isAuthorized == true)
    #expect(server.registrations.current == 1 && server.tokens.current == 1)
    server.clock.advance(by: .seconds(21_600 - 29))
    #expect(await second.ask(["b"], at: try server.point()).decisions.first?.isAuthorized == true)
    #expect(server.registrations.current == 1 && server.tokens.current == 2)
  }

  @Test("a rejected token is replaced once, whatever its error calls for, and never by another registration")
  func rejectedToken() async throws {
    let answers = [HTTPResponse.status(401), .enhanced("access_token_expired", 401, "application-registration")]
    for answer in answers {
      let server = AdobePassServer { _, token, resources in token == "t1" ? answer : .permits(resources) }
      let response = await server.engine().ask(["a"], at: try server.point())
      #expect(response.decisions.first?.isAuthorized == true)
      #expect(server.registrations.current == 1 && server.tokens.current == 2 && server.questions.current == 2)
    }
    let server = AdobePassServer { _, _, _ in .status(401) }
    let response = await server.engine().ask(["a"], at: try server.point())
    #expect(response.outcome == .failure && response.status?.code == "access_token_unavailable")
    #expect(server.registrations.current == 1 && server.questions.current == 2)
  }

  @Test("a client that is rejected with a fresh token registers once again, and not again for a while")
  func foreignClient() async throws {
    let server = AdobePassServer { _, token, resources in
      token == "t3"
        ? .permits(resources) : .enhanced("invalid_access_token_client_application", 401, "application-registration")
    }
    let (engine, point) = (server.engine(), try server.point())
    #expect(await engine.ask(["a"], at: point).decisions.first?.isAuthorized == true)
    #expect(server.registrations.current == 2 && server.tokens.current == 3 && server.questions.current == 3)
    let hopeless = AdobePassServer { _, _, _ in
      .enhanced("invalid_access_token_client_application", 401, "application-registration")
    }
    let (asking, there) = (hopeless.engine(), try hopeless.point())
    for _ in 0..<2 {
      let status = await asking.ask(["a"], at: there).status
      #expect(status?.code == "access_token_unavailable" && status?.action == "application-registration")
    }
    // The last token expires, and nothing helps any more.
    engine.clock.advance(by: .seconds(300))
    server.forgotten.withLock { $0 = ["client-2", "client-3"] }
    engine.clock.advance(by: .seconds(21_600 - 400))
    for _ in 0..<3 {
      let response = await engine.ask(["b"], at: point)
      #expect(response.status?.code == "access_token_unavailable" || response.decisions.first?.isAuthorized == true)
    }
    #expect(server.registrations.current <= 3)
  }

  @Test("invalid_client at the token endpoint is one registration, also for many calls; then there is a pause")
  func invalidClient() async throws {
    let (server, store) = (AdobePassServer(), MemoryRecordStore())
    func process() throws -> DecisionPoint { try server.point { $0.permitLifetime = .zero } }
    #expect(await server.engine(store: store).ask(["a"], at: try process()).decisions.first?.isAuthorized == true)
    server.forgotten.withLock { $0 = ["client-1"] }
    server.clock.advance(by: .seconds(21_600))
    let (engine, point) = (server.engine(store: store), try process())
    await withTaskGroup(of: Void.self) { group in
      for number in 1...10 {
        group.addTask { #expect(await engine.ask(["r\(number)"], at: point).decisions.first?.isAuthorized == true) }
      }
    }
    #expect(server.registrations.current == 2)
    // The new credentials are stored.
    #expect(await server.engine(store: store).ask(["a"], at: try process()).decisions.first?.isAuthorized == true)
    #expect(server.registrations.current == 2)
    server.forgotten.withLock { $0 = ["client-1", "client-2", "client-3"] }
    engine.clock.advance(by: .seconds(21_600))
    for _ in 0..<2 {
      let status = await engine.ask(["a"], at: point).status
      #expect(status?.code == "access_token_unavailable" && status?.action == "application-registration")
    }
    #expect(server.registrations.current == 3)
    engine.clock.advance(by: .seconds(60))
    #expect(await engine.ask(["a"], at: point).status?.code == "access_token_unavailable")
    #expect(server.registrations.current == 3)
    engine.clock.advance(by: AdobePassClients.replacementPause)
    #expect(await engine.ask(["a"], at: point).decisions.first?.isAuthorized == true)
    #expect(server.registrations.current == 4)
  }

  @Test("a store that cannot be read is no reason to register, one that cannot be written loses nothing")
  func troubledStore() async throws {
    let (server, store) = (AdobePassServer(), TroubledStore())
    let point = try server.point { $0.attempts = 1 }
    let engine = server.engine(store: store)
    store.failReads(true)
    #expect(await engine.ask(["a"], at: point).status?.code == "access_token_unavailable")
    #expect(server.registrations.current == 0)
    store.failReads(false)
    store.failInsertions()
    for _ in 0..<2 { #expect(await engine.ask(["a"], at: point).status?.code == "access_token_unavailable") }
    #expect(server.registrations.current == 1 && server.tokens.current == 0)
    store.failInsertions(false)
    #expect(await engine.ask(["a"], at: point).decisions.first?.isAuthorized == true)
    #expect(await server.engine(store: store).ask(["a"], at: point).decisions.first?.isAuthorized == true)
    #expect(server.registrations.current == 1)
  }

  @Test("a damaged record is no reason to register either")
  func damagedRecord() async throws {
    let (server, store) = (AdobePassServer(), MemoryRecordStore())
    let client = try AdobePassClient(
      baseURL: HTTPURL("https://adobe.test"), serviceProvider: "REF 30", softwareStatement: Secret("the-statement"))
    try await store.insert(
      StoredRecord(key: client.key, uid: 0, version: 1, expiresAt: nil, contents: Secret(Array("{}".utf8))))
    let response = await server.engine(store: store).ask(["a"], at: try server.point())
    #expect(response.status?.code == "access_token_unavailable" && server.registrations.current == 0)
  }

  private static let rejections: [(HTTPResponse, String)] = [
    (.json(#"{"error":"invalid_software_statement"}"#, status: 400), "answered 400 invalid_software_statement"),
    (.json(#"{"error":"the-statement"}"#, status: 400), "answered 400"),
    (.json(#"{"client_id":"x"}"#, status: 201), "has no credentials"),
    (.json(#"{"client_id":"x","client_secret":7}"#, status: 201), "has no credentials"),
    (.json("<html>", status: 200), "has no credentials"), (.status(302), "answered 302"),
  ]

  @Test("the error of a rejected registration has the reason and quotes nothing else", arguments: rejections.indices)
  func rejectedRegistration(index: Int) async throws {
    let (answer, words) = Self.rejections[index]
    let server = AdobePassServer()
    server.registrationAnswer.withLock { $0 = answer }
    let engine = server.engine()
    let response = await engine.ask(["a"], at: try server.point())
    #expect(response.outcome == .failure && response.status?.code == "access_token_unavailable")
    let details = try #require(response.status?.details)
    #expect(details.contains(words) && !details.contains("the-statement"), "\(details)")
    _ = await engine.ask(["a"], at: try server.point())
    #expect(server.registrations.current <= 2)
  }

  @Test("a token endpoint that echoes the secret, has another type or a cut answer gives nothing away and no token")
  func rejectedTokens() async throws {
    for answer in [
      HTTPResponse.json(#"{"error":"invalid_request","error_description":"secret-1"}"#, status: 400),
      .json(#"{"error":"secret-1"}"#, status: 401), .json(#"{"access_token":"t","token_type":"mac"}"#, status: 201),
      .json(#"{"access_token":"t","token_"#, status: 201), .json(#"{"access_token":"a b","token_type":"bearer"}"#),
    ] {
      let server = AdobePassServer()
      server.tokenAnswer.withLock { $0 = answer }
      let response = await server.engine().ask(["a"], at: try server.point())
      #expect(response.status?.code == "access_token_unavailable" && server.registrations.current == 1)
      #expect(!"\(response)".contains("secret-1"))
    }
  }

  @Test(
    "a rejected token has an action that is not published, or loses one that is",
    arguments: [
      ("none", "none"), ("configuration", "configuration"), ("application-registration", "application-registration"),
      ("authentication", "authentication"), ("authorization", "authorization"), ("degradation", "degradation"),
      ("retry", "retry"), ("retry-after", "retry-after"), ("token t1", "none"),
    ])
  func actions(given: String, action: String) async throws {
    let server = AdobePassServer { _, _, _ in .enhanced("invalid_access_token_service_provider", 401, given) }
    let status = await server.engine().ask(["a"], at: try server.point()).status
    #expect(status?.code == "access_token_unavailable" && status?.action == action)
  }

  @Test("an outage at registration or at the token endpoint reads as rejected credentials")
  func outage() async throws {
    for path in ["/o/client/register", "/o/client/token"] {
      let server = AdobePassServer()
      server.unreachable.withLock { $0 = [path] }
      let (engine, point) = (server.engine(), try server.point { $0.attempts = 1 })
      let response = await engine.ask(["a"], at: point)
      #expect(response.outcome == .failure && response.status?.status == 0)
      #expect(response.status?.code == "network_error" && response.status?.action == "retry", "\(path)")
      #expect(response.status?.details?.contains(path) == true)
      server.unreachable.withLock { $0 = [] }
      #expect(await engine.ask(["a"], at: point).decisions.first?.isAuthorized == true)
    }
  }

  @Test("a 429 of the token endpoint is waited for, at least a second")
  func throttledToken() async throws {
    let server = AdobePassServer()
    server.tokenAnswer.withLock { $0 = .status(429, ("Content-Type", "text/html")) }
    let (engine, point) = (server.engine(), try server.point())
    async let response = engine.ask(["a"], at: point)
    // Others sleep, too: who waits for a run has a timer.
    #expect(await eventually { engine.clock.remainders.contains(.seconds(1)) })
    server.tokenAnswer.withLock { $0 = nil }
    engine.clock.advance(by: .milliseconds(999))
    for _ in 0..<1000 { await Task.yield() }
    #expect(server.tokens.current == 1)
    engine.clock.advance(by: .milliseconds(1))
    #expect(await eventually { server.tokens.current == 2 })
    #expect(await response.decisions.first?.isAuthorized == true)
    #expect(server.registrations.current == 1)
  }

  @Test("another statement, service provider or server is another client; secrets are not in what is printed")
  func clients() throws {
    func client(_ url: String = "https://a.test", _ provider: String = "p", _ statement: String = "s") throws
      -> RecordKey
    {
      try AdobePassClient(baseURL: HTTPURL(url), serviceProvider: provider, softwareStatement: Secret(statement)).key
    }
    let keys = [
      try client(), try client("https://b.test"), try client("https://a.test", "q"),
      try client("https://a.test", "p", "t"),
    ]
    let again = try client()
    #expect(Set(keys).count == 4 && keys[0] == again)
    let made = try #require(
      AdobePassRegistration(
        .json(#"{"client_id":"identity","client_secret":"hush"}"#, status: 201),
        of: AdobePassClient(
          baseURL: HTTPURL("https://a.test"), serviceProvider: "p", softwareStatement: Secret("statement"))))
    var dumped = ""
    dump(made, to: &dumped)
    #expect(!"\(made) \(dumped)".contains("hush"))
  }
}
