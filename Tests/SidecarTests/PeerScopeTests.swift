import PosternJSON
import PosternObservability
import PosternProtocol
import PosternTestSupport
import Sidecar
import Testing

/// The names that the lists of a peer's rule hide.
@Suite("Peers: what resources, issuers and preauthorization hide", .timeLimit(.minutes(1)))
struct PeerScopeTests {
  /// A call with the name of something hidden, and the same with the name of nothing.
  private struct Case {
    let method: String
    let bound: PeerBounds
    let hidden: JSONValue
    let missing: JSONValue

    /// One member differs.
    init(
      _ method: String, _ bound: PeerBounds, _ member: String, _ hidden: JSONValue, _ missing: JSONValue,
      _ rest: JSONObject = [:]
    ) {
      var (first, second) = (rest, rest)
      first[member] = hidden
      second[member] = missing
      self.method = method
      self.bound = bound
      self.hidden = .object(first)
      self.missing = .object(second)
    }
  }

  /// Methods that show things instead of taking their names: each has a test of its own.
  private static let shown: [String: PeerBounds] = [
    "health": .all, "metrics": .all, "reloadConfig": .all, "subscribe": .all, "listTasks": .resources,
    "listSessions": .issuers, "explainCall": .all,
  ]

  private static let noHandle: JSONValue = .string(String(repeating: "A", count: 43))

  private static func cases(_ bench: PeerScopeBench) async throws -> [Case] {
    let session = try await bench.session(at: "other")
    let task = await bench.whole.call("fetchResource", ["resource": "hidden", "task": "hidden-task"])
    _ = try #require(task["result"], "\(task)")
    let begun = await bench.whole.call("beginAuthorization", ["issuer": "other"])
    let state = try #require(begun["result"]?["state"]?.stringValue, "\(begun)")
    let device = await bench.whole.call("beginDeviceAuthorization", ["issuer": "other"])
    let handle = try #require(device["result"]?["handle"], "\(device)")
    _ = try await bench.session(at: "own")
    let stopped = await bench.whole.call(
      "fetchResource", ["resource": "hidden-user", "session": "only", "path": "pay"])
    let continuation = try #require(stopped["error"]?["data"]?["continuation"], "\(stopped)")
    func callback(_ state: String) -> JSONValue { .string("https://app.test/cb?code=c&state=\(state)") }
    func ofSession(_ method: String, _ rest: JSONObject = [:]) -> Case {
      Case(method, .issuers, "session", session, noHandle, rest)
    }
    func ofIssuer(_ method: String, _ rest: JSONObject = [:]) -> Case {
      Case(method, .issuers, "issuer", "other", "nowhere", rest)
    }
    func ofPass(_ method: String, _ others: JSONObject = JSONObject()) -> Case {
      Case(method, .preauthorization, "provider", "news", "nowhere", others)
    }
    let tokens: JSONValue = ["type": "tokens", "accessToken": "t"]
    let advice: JSONValue = ["type": "AuthLevelConditionAdvice", "value": "2"]
    return [
      Case("fetchResource", .resources, "resource", "hidden", "nowhere"),
      Case("fetchResource", .resources, "continuation", continuation, noHandle),
      ofSession("fetchResource", ["resource": "mine", "auth": "user"]),
      ofSession("fetchResource", ["resource": "mine"]),
      Case("getTask", .resources, "task", "hidden-task", "no-task"),
      Case("suspendTask", .resources, "task", "hidden-task", "no-task"),
      Case("resumeTask", .resources, "task", "hidden-task", "no-task"),
      Case("cancelTask", .resources, "task", "hidden-task", "no-task"),
      Case("preauthorize", .preauthorization, "provider", "news", "nowhere", ["resources": ["x"]]),
      ofSession("preauthorize", ["resources": ["x"], "provider": "films"]),
      Case("invalidateDecisions", .preauthorization, "provider", "news", "nowhere"),
      ofSession("invalidateDecisions"),
      ofPass("pass.getConfiguration"), ofPass("pass.createSession"), ofPass("pass.resumeSession", ["code": "c"]),
      ofPass("pass.getSession", ["code": "c"]), ofPass("pass.listProfiles"),
      ofPass("pass.authorize", ["resources": ["x"]]), ofPass("pass.logout"),
      ofIssuer("validateIdToken", ["idToken": "x"]),
      ofIssuer("validateAccessToken", ["accessToken": "x", "audience": "a"]),
      ofIssuer("validateRequest", ["method": "GET", "url": "https://api.test/", "headers": [:]]),
      ofIssuer("validateLogoutToken", ["logoutToken": "x"]),
      ofIssuer("introspectToken", ["token": "x"]),
      ofIssuer("createSession", ["grant": tokens]),
      ofIssuer("beginAuthorization", ["redirectUri": "https://app.test/cb"]),
      ofIssuer("beginAuthorization"),
      Case(
        "completeAuthorization", .issuers, "callbackUrl", callback(state), callback(String(repeating: "A", count: 43))),
      ofIssuer("beginDeviceAuthorization"),
      Case("completeDeviceAuthorization", .issuers, "handle", handle, noHandle),
      ofSession("getSession"), ofSession("refreshSession"), ofSession("endSession"), ofSession("revokeToken"),
      ofIssuer("revokeToken", ["token": "x"]),
      Case("getAccessToken", .resources, "resource", "hidden", "nowhere"),
      ofIssuer("getAccessToken"),
      ofSession("getAccessToken", ["resource": "mine", "auth": "user"]),
      ofSession("getAccessToken", ["resource": "mine"]),
      ofIssuer("authenticate"),
      ofSession("authenticateWithAdvice", ["advice": advice]),
      Case("authenticateWithAdvice", .resources, "continuation", continuation, noHandle),
      Case("narrow", .resources, "resources", ["hidden"], ["nowhere"]),
      Case("createEndpoint", .resources, "resources", ["hidden"], ["nowhere"]),
    ]
  }

  @Test("a hidden name is distinguished from one that does not exist, by code, message or data")
  func hiddenIsMissing() async throws {
    let bench = try PeerScopeBench()
    let cases = try await Self.cases(bench)
    let sent = bench.bench.transport.requests(to: "https://other.test/").count
    for one in cases {
      let missing = await bench.answer(one.method, one.missing)
      let hidden = await bench.answer(one.method, one.hidden)
      #expect(hidden == missing, "\(one.method) \(one.hidden)")
      #expect(missing["error"] != nil || missing["result"]?["outcome"] == "failure", "\(one.method): \(missing)")
    }
    #expect(bench.bench.transport.requests(to: "https://other.test/").count == sent, "nothing goes to a hidden issuer")
  }

  /// Catches an explanation that reveals what a rule hides, of any method.
  @Test("an explanation shows of a hidden name what it shows of one that does not exist")
  func explained() async throws {
    let bench = try PeerScopeBench()
    for one in try await Self.cases(bench) {
      let missing = await bench.answer("explainCall", ["method": .string(one.method), "params": one.missing])
      let hidden = await bench.answer("explainCall", ["method": .string(one.method), "params": one.hidden])
      #expect(hidden == missing, "\(one.method) \(one.hidden)")
      #expect(missing["result"] != nil, "\(one.method): \(missing)")
    }
  }

  @Test("a method, or a list that bounds it, has no case here")
  func complete() async throws {
    var covered = Self.shown
    for one in try await Self.cases(PeerScopeBench()) { covered[one.method, default: []].formUnion(one.bound) }
    for method in ProtocolMethods.all {
      #expect(covered[method.name, default: []] == method.bounds, "\(method.name)")
    }
  }

  @Test("what was hidden is used up or ended by one who may not see it")
  func untouched() async throws {
    let bench = try PeerScopeBench()
    let session = try await bench.session(at: "other")
    for method in ["refreshSession", "endSession", "revokeToken"] {
      #expect(await bench.answer(method, ["session": session])["error"]?["code"] == 5001)
    }
    #expect(await bench.whole.call("getSession", ["session": session])["result"]?["issuer"] == "other")
  }

  @Test("a call that names nothing means more than what is shown to it")
  func only() async throws {
    let bench = try PeerScopeBench()
    let one = bench.bench.connect(uid: 7, gid: 21)
    #expect(await one.call("fetchResource", ["path": "x"])["result"]?["url"] == "https://mine.test/x")
    let several = await bench.answer("fetchResource", ["path": "x"])
    #expect(several["error"]?["code"] == -32602)
    // The only decision point of the rule: what is missing is a session, not its name.
    let answered = await bench.answer("preauthorize", ["resources": ["x"]])
    #expect(answered["result"]?["status"]?["code"] == "authentication_session_missing", "\(answered)")
  }

  @Test("lists of sessions and tasks show what is hidden")
  func lists() async throws {
    let bench = try PeerScopeBench()
    let own = try await bench.session(at: "own")
    _ = try await bench.session(at: "other")
    for name in ["mine", "hidden"] {
      _ = await bench.whole.call("fetchResource", ["resource": .string(name), "task": .string("task-\(name)")])
    }
    let sessions = await bench.answer("listSessions", nil)["result"]?["sessions"]?.arrayValue
    #expect(sessions?.compactMap { $0["session"] } == [own])
    let tasks = await bench.answer("listTasks", nil)["result"]?["tasks"]?.arrayValue
    #expect(tasks?.compactMap { $0["task"] } == ["task-mine"])
    #expect(await bench.whole.call("listTasks")["result"]?["tasks"]?.arrayValue?.count == 2)
    #expect(await bench.whole.call("listSessions")["result"]?["sessions"]?.arrayValue?.count == 2)
  }

  @Test("health and metrics tell of what is hidden, or of everybody's use")
  func status() async throws {
    let bench = try PeerScopeBench()
    for name in ["mine", "hidden"] { _ = await bench.whole.call("fetchResource", ["resource": .string(name)]) }
    let checks = await bench.answer("health", nil)["result"]?["checks"]?.objectValue
    #expect(checks?["issuer.own"] != nil && checks?["preauthorization.films"] != nil)
    #expect(checks?["issuer.other"] == nil && checks?["preauthorization.news"] == nil)
    let text = await bench.answer("metrics", nil)["result"]?["text"]?.stringValue ?? ""
    #expect(text.contains(#"resource="mine""#) && text.contains("postern_build_info"))
    for other in ["hidden", "postern_rpc_requests_total", "postern_connections"] { #expect(!text.contains(other)) }
    let all = await bench.whole.call("metrics")["result"]?["text"]?.stringValue ?? ""
    #expect(all.contains(#"resource="hidden""#) && all.contains("postern_rpc_requests_total"))
  }

  @Test("the health of what is hidden makes the whole degraded for one who cannot see it")
  func degraded() async throws {
    let bench = try PeerScopeBench()
    _ = await bench.whole.call("introspectToken", ["issuer": "other", "token": "x"])
    #expect(await bench.whole.call("health")["result"]?["status"] == "degraded")
    #expect(await bench.answer("health", nil)["result"]?["status"] == "ok")
  }

  @Test("events of sessions at a hidden issuer, and changes of its health, reach one who cannot see it")
  func events() async throws {
    let bench = try PeerScopeBench()
    let events: JSONValue = ["events": ["event.sessionEnded", "event.healthChanged"]]
    _ = await bench.part.call("subscribe", events)
    let all = bench.bench.connect(uid: 7, gid: 1)
    _ = await all.call("subscribe", events)
    let hidden = try await bench.session(at: "other")
    let own = try await bench.session(at: "own")
    _ = await bench.whole.call("introspectToken", ["issuer": "other", "token": "x"])
    _ = await bench.whole.call("endSession", ["session": hidden])
    _ = await bench.whole.call("endSession", ["session": own])
    let first = await bench.part.next()
    #expect(first?["params"]?["session"] == own, "\(String(describing: first))")
    #expect(await all.next()?["method"] == "event.healthChanged")
    #expect(await all.next()?["params"]?["session"] == hidden)
  }

  @Test("the problems of a new configuration are reported to a peer that may not see what they name")
  func reload() async throws {
    let bench = try PeerScopeBench()
    bench.bench.write(PeerScopeBench.yaml + "\nresource: {}\n")
    let problems = await bench.answer("reloadConfig", nil)["error"]?["data"]?["problems"]
    #expect(problems == ["the sidecar's log has the problems"])
    let all = await bench.whole.call("reloadConfig")["error"]?["data"]?["problems"]?.arrayValue
    #expect(all?.first?.stringValue?.contains("did you mean resources?") == true)
  }

  @Test(
    "getAccessToken gives out a token that a hidden resource uses, or one that is good for everything",
    arguments: [
      ("mine", nil as Int64?), ("plain", -32020), ("twin", -32020), ("wide", -32020), ("more", -32020),
      ("mine-too", -32602),
      ("hidden", -32602),
    ])
  func tokens(resource: String, code: Int64?) async throws {
    let bench = try PeerScopeBench()
    let hidden = await bench.whole.call("getAccessToken", ["resource": "hidden-twin"])
    let answer = await bench.answer("getAccessToken", ["resource": .string(resource)])
    #expect(answer["error"]?["code"]?.integerValue == code, "\(answer)")
    if code == nil {
      #expect(answer["result"]?["accessToken"] != hidden["result"]?["accessToken"])
      #expect(answer["result"]?["accessToken"]?.stringValue == "token-for-mine:read")
    }
  }

  @Test("getAccessToken returns a scope that was not granted, or none where the issuer returned one")
  func grantedScope() async throws {
    let bench = try PeerScopeBench()
    let less = await bench.answer("getAccessToken", ["resource": "less"])["result"]
    #expect(less?["scope"] == "less:read")
    #expect(await bench.answer("getAccessToken", ["resource": "mine"])["result"]?["scope"] == "mine:read")
    let session = try await bench.session(at: "own")
    let users = await bench.whole.call("getAccessToken", ["resource": "mine", "auth": "user", "session": session])
    #expect(users["result"]?["accessToken"] == "users-token" && users["result"]?["scope"] == nil, "no scope returned")
  }

  @Test("a resource that is shown cannot be fetched because its issuer is hidden")
  func issuerBehind() async throws {
    let bench = try PeerScopeBench()
    #expect(await bench.answer("fetchResource", ["resource": "mine-too"])["result"]?["status"] == 200)
    _ = try await bench.session(at: "other")
    let user = await bench.answer("fetchResource", ["resource": "mine-too", "auth": "user", "session": "only"])
    #expect(user["error"]?["code"] == 1001, "a session of a hidden issuer is none")
  }
}
