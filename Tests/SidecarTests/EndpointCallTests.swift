import AuthEngine
import HTTPMessages
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport
import PosternTestSupport
import Testing

@testable import PosternObservability
@testable import Sidecar

/// Calls through endpoints, and on connections that have given something up.
@Suite("Calls through endpoints", .timeLimit(.minutes(1)))
struct EndpointCallTests {
  private static let yaml = """
    log: { access: true }
    issuers: { am: { issuer: "https://idp.test", clientId: shop, clientSecret: s, redirectUri: "https://shop.test/cb",
      endpoints: { token: "https://idp.test/token", authorization: "https://idp.test/authorize" },
      accessManager: { baseUrl: "https://am.test/am", realm: alpha, cookieName: c } } }
    resources:
      api: { baseUrl: "https://api.test/shop/", issuer: am, auth: user, advice: { wait: 60s } }
      open: { baseUrl: "https://open.test/", auth: none, allowedHeaders: [X-HTTP-Method-Override] }
      other: { baseUrl: "https://other.test/", auth: none }
    peers: [ { uid: \(SidecarBench.ownUID), methods: ["*"], rate: { perSecond: 100, burst: 100 } } ]
    """

  private let isOpen = Locked(true)
  private let bench: SidecarBench

  init() throws {
    bench = try SidecarBench(Self.yaml) { [isOpen] request, _ async throws(TransportError) in
      guard isOpen.withLock({ $0 }) || request.url.origin.host != "api.test" else {
        return HTTPResponse(
          status: 403, body: Array(#"{"advices":{"AuthenticateToServiceConditionAdvice":["Confirm"]}}"#.utf8))
      }
      guard request.url.path == "/moved" else { return HTTPResponse(status: 200) }
      return HTTPResponse(status: 302, fields: ["Location": "https://open.test/orders/2"])
    }
  }

  private func level(_ limits: EndpointLimits = EndpointLimits(), under parent: Narrowing? = nil) throws -> Narrowing {
    let peer = Peer(uid: SidecarBench.ownUID, gid: 0)
    let rule = try #require(bench.service.snapshot.access.rule(for: peer))
    return try Narrowing.make(
      limits, id: SessionHandle.random().text, label: "job", under: parent, rule: rule, at: bench.clock.monotonicNow)
  }

  /// A connection at an endpoint.
  private func connect(_ level: Narrowing) throws -> BenchConnection {
    let connection = bench.connect()
    let caller = try #require(bench.service.hub.connections.first { $0.connection == connection.number })
    for level in level.chain { #expect(caller.narrow(to: level)) }
    return connection
  }

  private func logIn() async throws -> String {
    let grant: JSONValue = ["type": "tokens", "accessToken": "secret-token", "expiresIn": 3600]
    let answer = await bench.connect().call("createSession", ["issuer": "am", "grant": grant])
    return try #require(answer["result"]?["session"]?.stringValue, "\(answer)")
  }

  private static func code(_ answer: JSONValue?) -> Int64? { answer?["error"]?["code"]?.integerValue }

  // MARK: - narrow

  /// Catches a call behind `narrow`, in its batch or in the message after it, that is started before it.
  @Test("A call behind narrow is carried out without it", arguments: [false, true])
  func order(inBatch: Bool) async throws {
    let (answers, continuation) = AsyncStream.makeStream(of: JSONValue.self)
    let executor = ManualExecutor()
    let conversation = bench.service.open(
      connection: 99, peer: Peer(uid: SidecarBench.ownUID, gid: 0),
      output: JSONRPCConnection.Output(
        executor: executor,
        write: { bytes in if let json = try? JSONParser().parse(bytes) { continuation.yield(json) } }, close: {}))
    func send(_ text: String) {
      Array(text.utf8).withUnsafeBytes { conversation.receive(text: $0, sharesLine: false) }
    }
    let call = #"{"jsonrpc":"2.0","id":1,"method":"getTask","params":{"task":"x"}}"#
    let narrow = #"{"jsonrpc":"2.0","id":2,"method":"narrow","params":{"methods":["health"]}}"#
    if inBatch { send("[\(call),\(narrow),\(call)]") } else { send(narrow) }
    send(call)
    while executor.runOne() {}
    var iterator = answers.makeAsyncIterator()
    let first = await iterator.next()
    if inBatch {
      // Before it the task is looked for, behind it the method is not allowed.
      #expect(first?.arrayValue?.map { Self.code($0) } == [1016, nil, -32020])
    } else {
      #expect(first?["result"] != nil)
    }
    while executor.runOne() {}
    #expect(Self.code(await iterator.next()) == -32020)
  }

  /// Catches a connection that gets back what it has given up, a ninth level, and a resource that is not configured.
  @Test("A connection gets back what it has given up")
  func narrow() async throws {
    let connection = bench.connect()
    #expect(Self.code(await connection.call("narrow", ["resources": ["opne"]])) == -32020)
    #expect(await connection.call("narrow", ["resources": ["open"]])["result"] != nil)
    #expect(Self.code(await connection.call("narrow", ["resources": ["open", "other"]])) == -32020)
    #expect(Self.code(await connection.call("narrow", ["resources": ["none"]])) == -32020)
    let known = await connection.call("fetchResource", ["resource": "other"])["error"]
    let unknown = await connection.call("fetchResource", ["resource": "none"])["error"]
    #expect(known?["code"] == -32602 && known?["message"] == unknown?["message"])
    #expect(known?["data"]?["path"] == unknown?["data"]?["path"])
    #expect(await connection.call("fetchResource", ["path": "x"])["result"]?["status"] == 200, "the only one it sees")
    for _ in 2...8 { #expect(await connection.call("narrow")["result"] != nil) }
    #expect(Self.code(await connection.call("narrow")) == -32602)
    #expect(await bench.connect().call("fetchResource", ["resource": "other"])["result"] != nil, "another connection")
  }

  // MARK: - Fetches

  /// Catches a redirect, a header field or an absolute URL that leads out of the lists.
  @Test("A fetch gets to another path or method than the lists have")
  func fetches() async throws {
    let connection = try connect(level(EndpointLimits(httpMethods: ["GET"], paths: ["moved", "orders/"])))
    let moved = await connection.call("fetchResource", ["resource": "open", "path": "moved"])
    #expect(moved["result"]?["status"] == 302)
    #expect(bench.transport.requests.count == 1)
    let headers: JSONValue = ["X-HTTP-Method-Override": "DELETE"]
    let overriding = await connection.call(
      "fetchResource", ["resource": "open", "path": "orders/1", "headers": headers])
    #expect(overriding["error"] != nil)
    #expect(Self.code(await connection.call("fetchResource", ["resource": "open", "path": "admin"])) == -32602)
    let post: JSONValue = ["resource": "open", "path": "orders/1", "method": "post", "body": "x"]
    #expect(Self.code(await connection.call("fetchResource", post)) == -32602)
    let absolute: JSONValue = ["resource": "open", "path": "https://open.test/orders/1"]
    #expect(await connection.call("fetchResource", absolute)["result"] != nil)
    #expect(bench.transport.requests.count == 2)
    // A message for what is there and not in the lists does not propose it.
    let error = await connection.call("fetchResource", ["resource": "open", "path": "admin"])["error"]
    #expect(error?["message"] == "No such resource is configured")
  }

  static let secondURLs: [(JSONObject, code: Int64?)] = [
    (["Destination": "https://open.test/orders/b"], nil), (["Destination": "/orders/b"], nil),
    (["Destination": "b"], nil), (["destination": "/orders/x/../b"], nil),
    (["x-ms-copy-source": "https://open.test/orders/b?v=1"], nil), (["If": "</orders/b> (<urn:uuid:1>)"], nil),
    (["Destination": "https://open.test/admin/b"], -32602), (["Destination": "/admin/b"], -32602),
    (["Destination": "/orders"], -32602), (["Destination": "/orders-old/b"], -32602),
    (["Destination": "../admin/b"], -32602), (["Destination": "/orders/%2e%2e/admin"], -32602),
    (["Destination": "/orders//b"], -32602), (["Destination": "/orders/a%2fb"], -32602),
    (["Destination": "/orders/a;b"], -32602), (["Destination": ["/orders/b", "/orders/c"]], 1005),
    (["Destination": "https://other.test/orders/b"], 1006), (["Destination": "/orders/..%3fx"], 1006),
    (["Destination": "/orders/..%2fadmin"], 1006), (["Destination": "//open.test/orders/b"], 1006),
    (["If": "</orders/b> (<urn:uuid:1>) </admin/b> (<urn:uuid:1>)"], -32602), (["If": "x"], 1005),
    (["x-amz-copy-source": "orders/b"], 1005), (["X-Copy-From": "orders/b"], 1005),
    (["x-oss-symlink-target": "b"], 1005), (["X-Any-Copy-Source": "b"], 1005),
    (["X-Original-URL": "/orders/b"], 1005), (["X-HTTP-Method-Override": "DELETE"], 1005),
  ]

  /// Catches a request whose URL is in the list and whose fields name a resource that is not.
  @Test("A second URL gets to another path than the lists have", arguments: secondURLs)
  func secondURL(headers: JSONObject, code: Int64?) async throws {
    let connection = try connect(level(EndpointLimits(httpMethods: ["PUT"], paths: ["orders/"])))
    let params: JSONValue = [
      "resource": "open", "path": "orders/a", "method": "PUT", "body": "x", "headers": .object(headers),
    ]
    let answer = await connection.call("fetchResource", params)
    #expect(answer["error"]?["code"]?.integerValue == code, "\(answer)")
    #expect(bench.transport.requests.count == (code == nil ? 1 : 0))
    // The explanation, without a request.
    let explained = await connection.call("explainCall", ["method": "fetchResource", "params": params])["result"]
    #expect(explained?["allowed"] == .bool(code == nil))
    let rejection = explained?["steps"]?.arrayValue?.first { $0["verdict"] == "rejects" }
    #expect(rejection?["errorCode"]?.integerValue == code)
    #expect(bench.transport.requests.count == (code == nil ? 1 : 0))
  }

  /// Catches a list of resources that lets through what cannot be judged.
  @Test("A field that cannot be checked goes up through an endpoint without paths")
  func uncheckedFields() async throws {
    let connection = try connect(level(EndpointLimits(resources: ["open"])))
    func code(_ connection: BenchConnection, _ headers: JSONValue) async -> Int64? {
      let params: JSONValue = ["resource": "open", "path": "a", "method": "PUT", "headers": headers]
      return Self.code(await connection.call("fetchResource", params))
    }
    for name in ["x-oss-symlink-target", "X-Any-Copy-Source", "x-amz-rename-source", "X-Copy-From"] {
      #expect(await code(connection, .object([name: "x/y"])) == 1005)
      #expect(await code(bench.connect(), .object([name: "x/y"])) == nil, "the base URL is the whole server")
    }
    #expect(await code(connection, ["Destination": "/anything"]) == nil)
    #expect(await code(connection, ["Destination": "https://evil.test/"]) == 1006)
  }

  /// Catches a fetch that goes on through an endpoint that did not begin it, or outside of the lists.
  @Test("A suspended fetch or a task is seen through another endpoint")
  func continuations() async throws {
    let session = JSONValue.string(try await logIn())
    isOpen.withLock { $0 = false }
    let maker = try level()
    let (one, two) = (try level(under: maker), try level(under: maker))
    let (first, second, above) = (try connect(one), try connect(two), try connect(maker))
    func pay(_ connection: BenchConnection, _ task: JSONValue) async -> JSONValue {
      await connection.call(
        "fetchResource", ["resource": "api", "path": "pay", "session": session, "task": task])
    }
    let fault = await pay(first, "mine")
    let continuation = try #require(fault["error"]?["data"]?["continuation"], "\(fault)")
    let mainFault = await pay(bench.connect(), "main")
    let mains = try #require(mainFault["error"]?["data"]?["continuation"])
    isOpen.withLock { $0 = true }
    for (method, given) in [
      ("fetchResource", continuation), ("authenticateWithAdvice", continuation), ("fetchResource", mains),
    ] {
      #expect(Self.code(await second.call(method, ["continuation": given])) == 3002)
    }
    func tasks(_ connection: BenchConnection) async -> [String?] {
      await connection.call("listTasks")["result"]?["tasks"]?.arrayValue?.map { $0["task"]?.stringValue } ?? []
    }
    #expect(await tasks(first) == ["mine"])
    #expect(await tasks(second) == [])
    #expect(await tasks(above) == ["mine"])
    #expect(await tasks(bench.connect()) == ["main", "mine"])
    #expect(
      await second.call("cancelTask", ["task": "mine"])["error"]?["data"]?["reason"] == "task_not_found")
    let answer = await above.call("fetchResource", ["continuation": continuation])
    #expect(answer["result"]?["status"] == 200, "\(answer)")
  }

  // MARK: - Sessions

  /// Catches a session outside of the list that is used, shown, ended, or counted as one of several.
  @Test("A session outside of the list is there")
  func sessions() async throws {
    let (mine, other) = (try await logIn(), try await logIn())
    let connection = try connect(level(EndpointLimits(sessions: [mine])))
    for method in ["getSession", "refreshSession", "endSession", "revokeToken"] {
      let error = await connection.call(method, ["session": .string(other)])["error"]
      #expect(error?["data"]?["reason"] == "session_not_found", "\(method)")
    }
    let only: JSONValue = ["resource": "api", "session": "only"]
    let outside: JSONValue = ["resource": "api", "session": .string(other)]
    #expect(await connection.call("fetchResource", outside)["error"]?["data"]?["reason"] == "session_not_found")
    let listed = await connection.call("listSessions")["result"]?["sessions"]?.arrayValue
    #expect(listed?.map { $0["session"]?.stringValue } == [mine])
    #expect(await connection.call("fetchResource", only)["result"] != nil, "the only one")
    let grant: JSONValue = ["type": "tokens", "accessToken": "t", "expiresIn": 3600]
    #expect(Self.code(await connection.call("createSession", ["issuer": "am", "grant": grant])) == -32020)
    #expect(Self.code(await connection.call("beginAuthorization", ["issuer": "am"])) == -32020)
    #expect(Self.code(await connection.call("pass.listProfiles", ["provider": "x"])) == -32020)
    // Without one in the list there is none.
    let none = try connect(level(EndpointLimits(sessions: [])))
    #expect(await none.call("fetchResource", only)["error"]?["data"]?["reason"] == "not_authenticated")
    #expect(await none.call("listSessions")["result"]?["sessions"] == [])
    #expect(await bench.connect().call("getSession", ["session": .string(other)])["result"] != nil)
  }

  /// Catches a login that is completed by another endpoint than the one that began it.
  @Test("A login goes on through another endpoint")
  func logins() async throws {
    let (one, two) = (try connect(level()), try connect(level()))
    let begun = await one.call("beginAuthorization", ["issuer": "am"])["result"]
    let state = try #require(begun?["state"]?.stringValue)
    let mains = await bench.connect().call("beginAuthorization", ["issuer": "am"])["result"]?["state"]?.stringValue
    func complete(_ connection: BenchConnection, _ state: String) async -> JSONValue? {
      let url = "https://shop.test/cb?error=access_denied&state=\(state)"
      let params: JSONValue = ["callbackUrl": .string(url), "state": .string(state)]
      return await connection.call("completeAuthorization", params)["error"]?["data"]?["reason"]
    }
    #expect(await complete(two, state) == "state_unknown")
    #expect(await complete(two, try #require(mains)) == "state_unknown")
    #expect(await complete(one, state) != "state_unknown")
  }

  /// Catches events about sessions and resources outside of the chain, and any behind its end.
  @Test("An event is sent to an endpoint that may not know of it")
  func events() async throws {
    let (mine, other) = (try await logIn(), try await logIn())
    let own = try level(EndpointLimits(sessions: [mine]))
    let connection = try connect(own)
    _ = await connection.call("subscribe", ["events": ["event.sessionEnded"]])
    let main = bench.connect()
    _ = await main.call("endSession", ["session": .string(other)])
    _ = await main.call("endSession", ["session": .string(mine)])
    let event = await connection.next()
    #expect(event?["params"]?["session"]?.stringValue == mine, "\(String(describing: event))")
    own.revoke()
    #expect(bench.service.hub.scopes(of: .sessionEnded).isEmpty)
  }

  // MARK: - Limits and records

  /// Catches an endpoint whose calls are not counted at every level, and a child's flood that costs its maker's user.
  @Test("A child calls more often than its chain permits")
  func rate() async throws {
    let maker = try level(EndpointLimits(rate: EndpointRate(perSecond: 1, burst: 3)))
    let child = try level(EndpointLimits(rate: EndpointRate(perSecond: 1, burst: 2)), under: maker)
    let (connection, above) = (try connect(child), try connect(maker))
    for _ in 0..<2 { #expect(await connection.call("listTasks")["result"] != nil) }
    for _ in 0..<200 { #expect(Self.code(await connection.call("listTasks")) == -32009) }
    #expect((await connection.call("listTasks"))["error"]?["data"]?["retryAfterMs"] != nil)
    #expect(await above.call("listTasks")["result"] != nil)
    #expect(Self.code(await above.call("listTasks")) == -32009)
    #expect(await bench.connect().call("listTasks")["result"] != nil, "the user's own rate is not used up")
  }

  /// Catches a child that makes as many logins as it likes while a question to one of its user's connections is open.
  @Test("authenticate is not counted by a level's concurrency, or is, where it answers a question")
  func authentications() async throws {
    let child = try level(EndpointLimits(concurrency: 1))
    let (connection, maker) = (try connect(child), bench.connect())
    let begin: JSONValue = ["issuer": "am", "redirectUri": "https://shop.test/cb"]
    #expect(Self.code(await connection.call("authenticate", begin)) != -32009)
    try child.begin(isBounded: true)
    #expect(Self.code(await connection.call("authenticate", begin)) == -32009)
    // A question to another connection of the user is no question to the child.
    let question = Task { try await maker.conversation.request("delegate.approveCall", [:]) }
    #expect(await maker.next()?["method"] == "delegate.approveCall")
    #expect(Self.code(await connection.call("authenticate", begin)) == -32009)
    // One to the child: the call behind it has the slot, and one call may answer it.
    let own = Task { try await connection.conversation.request("delegate.onPolicyAdviceReceived", [:]) }
    #expect(await connection.next()?["method"] == "delegate.onPolicyAdviceReceived")
    #expect(Self.code(await connection.call("authenticate", begin)) != -32009)
    try child.begin(isBounded: false)
    #expect(Self.code(await connection.call("authenticate", begin)) == -32009)
    for task in [question, own] { task.cancel() }
  }

  /// Catches calls that go on, or are counted on, when an endpoint is over; and a chain without names in the records.
  @Test("An endpoint that is over answers, or its calls have no names in the records")
  func end() async throws {
    let maker = try level()
    let child = try level(EndpointLimits(concurrency: 1), under: maker)
    let connection = try connect(child)
    #expect(await connection.call("fetchResource", ["resource": "open"])["result"] != nil)
    #expect(child.callsUnderWay == 0 && maker.callsUnderWay == 0)
    #expect(bench.lines.withLock { $0.contains { $0.contains("\"endpoint\":\"\(child.id)\"") } })
    maker.revoke()
    #expect(Self.code(await connection.call("fetchResource", ["resource": "open"])) == -32020)
    #expect(Self.code(await connection.call("discover")) == -32020)
  }
}
