import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

/// Journeys by typed nodes: what is filled in arrives, and each step leads to the next.
@Suite struct JourneyNodeTests {
  private static func node(_ outcome: JourneyNode.Outcome) throws -> JourneyNode {
    guard case .node(let node) = outcome else { throw NoNode() }
    return node
  }

  private struct NoNode: Error {}

  private static func word(_ body: () async throws(JourneyError) -> JourneyNode.Outcome) async -> String {
    do throws(JourneyError) {
      switch try await body() {
      case .node: return "node"
      case .completed: return "completed"
      case .failed: return "failed"
      }
    } catch {
      return error.word
    }
  }

  private static func body(_ request: HTTPRequest?) throws -> JSONValue {
    try JSONParser().parse(request?.body ?? [])
  }

  private static func start(_ bench: JourneyBench) async throws -> JourneyNode {
    try node(try await bench.journeys.start(.login(tree: "Login"), at: bench.issuer, in: .uid(JourneyBench.uid)))
  }

  private static let page =
    JourneyBench.callback("NameCallback", prompt: "User Name") + ","
    + JourneyBench.callback("PasswordCallback", prompt: "Password", number: 2)

  @Test("A login by nodes does not end in a session, or the input of one callback is sent in another")
  func login() async throws {
    let bench = try JourneyBench()
    bench.thenPage(Self.page, more: #","stage":"Login","header":"Sign in","description":"With your account""#)
    bench.thenToken(JourneyBench.sso)
    var node = try await Self.start(bench)
    #expect(node.stage == "Login" && node.pageHeader == "Sign in" && node.pageDescription == "With your account")
    #expect("\(node)" == "Login: NameCallback, PasswordCallback" && node.expiresAt == node.step.expiresAt)
    #expect(node.first(NameCallback.self)?.prompt == "User Name" && node.first(ChoiceCallback.self) == nil)
    try node.fill(NameCallback.self) { $0.setValue("demo") }
    try node.fill(PasswordCallback.self) { $0.setValue("hunter2") }
    guard case .completed(let end) = try await node.next() else { throw NoNode() }
    #expect(end.session != nil)
    let sent = try Self.body(bench.submissions.last)
    let values = (sent["callbacks"]?.arrayValue ?? []).map { $0["input"]?.arrayValue?.first?["value"]?.stringValue }
    #expect(values == ["demo", "hunter2"] && sent["authId"] == "id" && sent["stage"] == "Login")
  }

  @Test("The SDKs' loop over callbacks by their classes fills nothing")
  func loop() async throws {
    let bench = try JourneyBench()
    bench.thenPage(Self.page)
    bench.thenToken(JourneyBench.sso)
    var node = try await Self.start(bench)
    node.callbacks = node.callbacks.map { callback in
      if var name = callback as? NameCallback {
        name.setValue("demo")
        return name
      }
      return callback
    }
    let outcomes = Locked<[String]>([])
    await node.next { outcome in outcomes.withLock { $0.append((try? outcome.get()).map { "\($0)" } ?? "") } }.value
    #expect(outcomes.withLock { $0.count } == 1 && outcomes.withLock { $0.first?.hasPrefix("completed") } == true)
    let sent = try Self.body(bench.submissions.last)
    #expect(sent["callbacks"]?.arrayValue?.first?["input"]?.arrayValue?.first?["value"] == "demo")
  }

  @Test("A node can be used twice, with too few callbacks, or by a fill of a callback that it does not have")
  func misuse() async throws {
    let bench = try JourneyBench()
    bench.thenPage(Self.page)
    bench.thenPage(Self.page)
    var node = try await Self.start(bench)
    let missing = #expect(throws: JourneyError.self) { try node.fill(ChoiceCallback.self) { _ in } }
    #expect(missing?.word == "invalid /callbacks")
    let used = node
    let few = await Self.word { () async throws(JourneyError) in try await used.next(Array(used.callbacks.dropLast())) }
    #expect(few == "invalid /callbacks" && bench.submissions.count == 1)
    #expect(await Self.word { () async throws(JourneyError) in try await used.next() } == "node")
    #expect(await Self.word { () async throws(JourneyError) in try await used.next() } == "unknown")
    #expect(bench.submissions.count == 2)
  }

  @Test("A node prints its continuation or a password")
  func printing() async throws {
    let bench = try JourneyBench()
    bench.thenPage(Self.page)
    var node = try await Self.start(bench)
    try node.fill(PasswordCallback.self) { $0.setValue("hunter2") }
    var dumped = ""
    dump(node, to: &dumped)
    let outcome = JourneyNode.Outcome.node(node)
    for text in ["\(node)", String(reflecting: node), dumped, "\(outcome)"] {
      #expect(!text.contains("hunter2") && !text.contains(node.step.continuation))
    }
  }

  @Test("The URL of a redirect is not passed on, or is used for a later redirect, too")
  func redirects() async throws {
    let redirect =
      #"{"type":"RedirectCallback","output":[{"name":"redirectUrl","value":"https://idp.test/"}]}"#
    let wait = #"{"type":"PollingWaitCallback","output":[{"name":"waitTime","value":"0"}]}"#
    let bench = try JourneyBench()
    bench.thenPage(redirect)
    bench.thenPage("\(redirect),\(wait)")
    var node = try await Self.start(bench)
    try node.fill(RedirectCallback.self) { $0.callbackURL = Secret("https://shop.test/callback?code=c-1&state=s&x=y") }
    node = try Self.node(try await node.next())
    #expect(bench.submissions.last?.url.description.hasSuffix("&code=c-1&state=s") == true)
    #expect(node.callbacks.map(\.type) == ["RedirectCallback", "PollingWaitCallback"])
    #expect(bench.submissions.count == 2)
  }

  @Test("The link of an e-mail does not continue the journey")
  func suspended() async throws {
    let bench = try JourneyBench()
    bench.thenPage(
      #"{"type":"SuspendedTextOutputCallback","output":[{"name":"message","value":"See your mail"}]}"#)
    bench.thenToken(JourneyBench.sso)
    var node = try await Self.start(bench)
    #expect(node.first(SuspendedTextOutputCallback.self)?.message == "See your mail")
    try node.fill(SuspendedTextOutputCallback.self) {
      $0.resumeURI = Secret("https://am.test/am/XUI?realm=/alpha&suspendedId=abc")
    }
    guard case .completed = try await node.next() else { throw NoNode() }
    #expect(bench.submissions.last?.url.description.hasSuffix("?suspendedId=abc") == true)
  }

  @Test("A step of another call has no node, or a rejection is taken for a step")
  func otherCalls() async throws {
    let bench = try JourneyBench()
    let session = try await bench.session()
    bench.thenPage()
    bench.then { _ in .json(#"{"code":401,"reason":"Unauthorized","message":"Login failure"}"#, status: 401) }
    let step = try #require(try await bench.stepUp(session).step)
    #expect(step.typedCallbacks.map(\.type) == ["PasswordCallback"])
    let node = JourneyNode(step, of: bench.journeys, at: bench.issuer, in: .uid(JourneyBench.uid))
    guard case .failed(let failure) = try await node.next() else { throw NoNode() }
    #expect(failure.message == "Login failure")
    let stored = try await bench.journeys.hold(.login(tree: nil), at: bench.issuer, in: .uid(JourneyBench.uid))
    bench.thenPage()
    let started = try Self.node(
      try await JourneyNode(stored, of: bench.journeys, at: bench.issuer, in: .uid(JourneyBench.uid)).next())
    #expect(started.callbacks.map(\.type) == ["PasswordCallback"])
  }
}
