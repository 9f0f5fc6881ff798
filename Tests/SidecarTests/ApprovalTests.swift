import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@testable import Sidecar

/// A maker, and a child at an endpoint whose calls are put to it.
struct ApprovalPair {
  private static let api = #"api: { baseUrl: "https://a.test/", auth: none }"#

  let bench: SidecarBench
  let sockets: ScriptedSockets
  let maker: BenchConnection
  let child: BenchConnection
  let id: String

  init(
    resources: String = Self.api, changing change: (inout SidecarService.Dependencies) -> Void = { _ in }
  ) async throws {
    let yaml = """
      peers: [{ uid: 7, methods: ["*"] }]
      issuers: { corp: { issuer: "https://idp.test", clientId: shop, clientSecret: s } }
      resources: { \(resources) }
      """
    bench = try SidecarBench(yaml, changing: change)
    sockets = bench.use(ScriptedSockets())
    maker = bench.connect(uid: 7)
    id = await maker.askingEndpoint(["label": "job"])
    child = try #require(bench.connect(to: id, sockets))
  }

  var requestCount: Int { bench.transport.requests.count }
}

/// `approval: "ask"`: calls are put to the endpoint's maker (`delegate.approveCall`) before anything is done.
@Suite("Approvals", .timeLimit(.minutes(1)))
struct ApprovalTests {
  private static func transfer(_ path: String = "transfer") -> JSONValue {
    ["path": .string(path), "method": "post", "body": "1"]
  }

  // A question that does not show what the call does, or a request that is sent before the answer.
  @Test("the maker is shown what the call does, and nothing is sent before it agrees")
  func question() async throws {
    let pair = try await ApprovalPair()
    pair.child.start("fetchResource", Self.transfer())
    let question = await pair.maker.next()
    #expect(question?["method"] == "delegate.approveCall")
    #expect(
      question?["params"] == [
        "method": "fetchResource", "chain": [.string(pair.id)], "endpoint": .string(pair.id), "label": "job",
        "httpMethod": "POST", "path": "transfer", "resource": "api", "url": "https://a.test/transfer",
        "body": ["bytes": 1],
      ])
    #expect(pair.requestCount == 0)
    pair.maker.answer(question, "once")
    #expect(await pair.child.next()?["result"]?["status"] == 200)
    #expect(pair.bench.metrics("postern_approvals_total") == [#"postern_approvals_total{answer="once"} 1"#])
  }

  /// Requests as a child spells them, with what the maker is shown of each.
  static let shown: [(JSONObject, path: String, body: JSONValue?)] = [
    (["path": "./x/../tr%61nsfer?a=1"], "transfer?a=1", nil),
    (["path": "HTTPS://A.test:443/%7Ea", "method": "head"], "~a", nil),
    (["path": "read", "parameters": ["delete": "all", "n": 1]], "read?delete=all&n=1", nil),
    (["path": "read?x=1", "method": "DELETE", "parameters": ["y": "\u{202e}"]], "read?x=1&y=%E2%80%AE", nil),
    (
      ["path": "a", "method": "POST", "parameters": ["k": "v"]], "a",
      ["bytes": 9, "contentType": "application/json"]
    ),
    (
      ["path": "a", "method": "put", "parameters": ["k": "v"], "parametersEncoding": "formUrl"], "a",
      ["bytes": 3, "contentType": "application/x-www-form-urlencoded"]
    ),
    (
      ["path": "a", "method": "PUT", "body": "12345", "headers": ["content-type": "text/plain"]], "a",
      ["bytes": 5, "contentType": "text/plain"]
    ),
    (["path": "a", "method": "PATCH", "bodyBase64": "AAAA"], "a", ["bytes": 3]),
    (["path": "a", "method": "PUT", "headers": ["Destination": "/b/../c", "If": "<x> (<urn:uuid:1>)"]], "a", nil),
    (["path": "box/a", "method": "PUT", "headers": ["x-ms-copy-source": "https://a.test/b?sig=1"]], "box/a", nil),
  ]

  // A question in the caller's spelling, or without a part of what is sent.
  @Test("what is shown is what is sent", arguments: shown)
  func whatIsShown(params: JSONObject, path: String, body: JSONValue?) async throws {
    let pair = try await ApprovalPair()
    pair.child.start("fetchResource", .object(params))
    let question = await pair.maker.next()
    let shown = question?["params"]
    pair.maker.answer(question, "once")
    #expect(await pair.child.next()?["result"]?["status"] == 200)
    let sent = try #require(pair.bench.transport.requests.first)
    #expect(shown?["httpMethod"]?.stringValue == sent.method && shown?["url"]?.stringValue == "\(sent.url)")
    #expect(shown?["path"]?.stringValue == path)
    #expect(shown?["body"] == body && shown?["body"]?["bytes"]?.integerValue == sent.body.map { Int64($0.count) })
    #expect(shown?["body"]?["contentType"]?.stringValue == sent.body.flatMap { _ in sent.fields["Content-Type"] })
    for other in shown?["otherUrls"]?.arrayValue ?? [] {
      let (name, url) = (other["header"]?.stringValue ?? "", other["url"]?.stringValue ?? "")
      let path = String(url.dropFirst("https://a.test".utf8.count))
      #expect(sent.fields[name].map { $0.contains(path) } == true)
    }
    let named = ["Destination", "If", "x-ms-copy-source"].filter { sent.fields[$0] != nil }
    #expect((shown?["otherUrls"]?.arrayValue ?? []).compactMap { $0["header"]?.stringValue } == named)
  }

  // An answer that is good for another body, another query, another user or another second URL.
  @Test("always is for what was shown: with any part of it changed the call is put again")
  func alwaysForWhatWasShown() async throws {
    let pair = try await ApprovalPair()
    let approved: JSONObject = [
      "path": "a", "method": "PUT", "body": "12345", "headers": ["Content-Type": "text/plain", "Destination": "/b"],
    ]
    pair.child.start("fetchResource", .object(approved))
    pair.maker.answer(await pair.maker.next(), "always")
    #expect(await pair.child.next()?["result"]?["status"] == 200)
    // The same in another spelling.
    var same = approved
    same["path"] = "https://a.test/x/../%61"
    same["headers"] = ["Content-Type": "text/plain", "Destination": "/c/../b", "X-Other": "1"]
    #expect(await pair.child.call("fetchResource", .object(same))["result"]?["status"] == 200)
    let changes: [(String, JSONValue)] = [
      ("path", "a?x=1"), ("path", "A"), ("method", "PATCH"), ("body", "123456"), ("auth", "none"),
      ("onBehalfOf", ["token": "t"]),
      ("headers", ["Content-Type": "text/html", "Destination": "/b"]), ("headers", ["Content-Type": "text/plain"]),
      ("headers", ["Content-Type": "text/plain", "Destination": "/b/c"]),
      ("headers", ["Content-Type": "text/plain", "Destination": "/b", "If": "</c> (<urn:uuid:1>)"]),
    ]
    for (name, value) in changes {
      var params = approved
      params[name] = value
      pair.child.start("fetchResource", .object(params))
      let question = await pair.maker.next()
      #expect(question?["method"] == "delegate.approveCall", "\(name)")
      pair.maker.answer(question, "no")
      #expect(await pair.child.next()?["error"]?["code"] == -32020)
    }
  }

  // A secret of the configuration that a question shows, or a child's secret that it does.
  @Test("the resource's credential and the tokens of a call are masked, what the call does is not")
  func masked() async throws {
    let pair = try await ApprovalPair(
      resources: """
        api: { baseUrl: "https://a.test/", auth: credential, credential: { query: key, value: s3cr3t-value } }
        """)
    pair.child.start("fetchResource", ["path": "x", "parameters": ["a": 1]])
    let question = await pair.maker.next()
    #expect(question?["params"]?["url"]?.stringValue?.contains("s3cr3t") == false)
    pair.maker.answer(question, "once")
    _ = await pair.child.next()
    #expect(pair.bench.transport.requests.first?.url.query?.contains("s3cr3t-value") == true)
    let calls: [(String, JSONValue, shown: JSONValue)] = [
      (
        "introspectToken", ["issuer": "corp", "token": "t0ken", "audience": "https://api.test"],
        ["issuer": "corp", "token": "***", "audience": "https://api.test"]
      ),
      (
        "createSession",
        ["issuer": "corp", "grant": ["type": "tokens", "accessToken": "t0ken", "refreshToken": "t0ken"]],
        ["issuer": "corp", "grant": ["type": "tokens", "accessToken": "***", "refreshToken": "***"]]
      ),
      (
        "getAccessToken",
        ["resource": "api", "auth": "onBehalfOf", "onBehalfOf": ["token": "t0ken", "audience": "x"]],
        ["resource": "api", "auth": "onBehalfOf", "onBehalfOf": ["token": "***", "audience": "x"]]
      ),
      (
        "completeAuthorization", ["callbackUrl": "https://x.test/cb?code=t0ken&state=s"], ["callbackUrl": "***"]
      ),
      (
        "preauthorize", ["resources": ["r1", "r2"], "provider": "p", "context": ["subject": "t0ken"]],
        ["resources": ["r1", "r2"], "provider": "p", "context": ["subject": "***"]]
      ),
    ]
    for (method, params, shown) in calls {
      pair.child.start(method, params)
      let question = await pair.maker.next()
      #expect(question?["params"]?["params"] == shown, "\(method)")
      #expect(!JSONWriter().string(question ?? .null).contains("t0ken"))
      pair.maker.answer(question, "no")
      #expect(await pair.child.next()?["error"]?["code"] == -32020)
    }
  }

  // A call that could never be sent, put to a person all the same.
  @Test("what cannot be sent is rejected without a question")
  func unsendable() async throws {
    let pair = try await ApprovalPair()
    let rejected: [(JSONObject, Int64)] = [
      (["path": "..%2fx"], 1006), (["path": "https://evil.test/"], 1007), (["method": "TRACE"], 1004),
      (["headers": ["Host": "x"]], 1005), (["headers": ["Destination": "https://evil.test/"]], 1006),
      (["headers": ["x-oss-symlink-target": "x"]], 1005), (["resource": "none"], -32602), (["path": 1], -32602),
      (["continuation": "none"], 3002),
    ]
    for (params, code) in rejected {
      #expect(await pair.child.call("fetchResource", .object(params))["error"]?["code"] == .integer(code))
    }
    pair.child.start("fetchResource", ["path": "x"])
    #expect(await pair.maker.next()?["params"]?["path"] == "x", "the first question")
  }

  // An answer that is taken for more than it is.
  @Test(
    "no, an error and nonsense reject the call",
    arguments: [
      #""result":{"answer":"no"}"#, #""result":{"answer":"yes"}"#, #""result":{"answer":true}"#, #""result":"once""#,
      #""result":null"#, #""error":{"code":1,"message":"once"}"#,
    ])
  func rejected(answer: String) async throws {
    let pair = try await ApprovalPair()
    pair.child.start("fetchResource", Self.transfer())
    pair.maker.answer(await pair.maker.next(), json: answer)
    let outcome = await pair.child.next()
    #expect(outcome?["error"]?["code"] == -32020 && outcome?["error"]?["data"]?["outcome"] == "not_sent")
    #expect(pair.requestCount == 0)
  }

  // `always` that covers another path, method or endpoint; `once` that is good for a second call.
  @Test("always is good for the same call on, once for one call")
  func always() async throws {
    let pair = try await ApprovalPair()
    for answer in ["once", "always"] {
      pair.child.start("fetchResource", Self.transfer())
      pair.maker.answer(await pair.maker.next(), answer)
      #expect(await pair.child.next()?["result"]?["status"] == 200)
    }
    #expect(await pair.child.call("fetchResource", Self.transfer())["result"]?["status"] == 200)
    let others: [JSONValue] = [
      Self.transfer("transfer/2"), ["path": "transfer"], ["path": "transfer", "method": "PUT"],
    ]
    for params in others {
      pair.child.start("fetchResource", params)
      pair.maker.answer(await pair.maker.next(), "no")
      #expect(await pair.child.next()?["error"]?["code"] == -32020)
    }
    let second = await pair.maker.endpoint(["approval": "ask"])
    let other = try #require(pair.bench.connect(to: second, pair.sockets))
    other.start("fetchResource", Self.transfer())
    pair.maker.answer(await pair.maker.next(), "no")
    #expect(await other.next()?["error"]?["code"] == -32020)
  }

  // A maker that never answers, or answers late: the call must not wait for it, nor be carried out after all.
  @Test("without an answer in 60 s, or by the call's deadline, the call is rejected; a late answer is ignored")
  func late() async throws {
    let pair = try await ApprovalPair()
    for (timeout, wait) in [(nil as Int64?, Duration.seconds(60)), (5000, .seconds(5))] {
      var params: JSONObject = ["path": "x"]
      if let timeout { params["meta"] = ["timeoutMs": .integer(timeout)] }
      pair.child.start("fetchResource", .object(params))
      let question = await pair.maker.next()
      while pair.bench.clock.remainders.first != wait { await Task.yield() }
      pair.bench.clock.advance(by: wait)
      #expect(await pair.child.next()?["error"]?["code"] == -32020)
      pair.maker.answer(question, "always")
    }
    pair.child.start("fetchResource", ["path": "x"])
    #expect(await pair.maker.next()?["method"] == "delegate.approveCall")
    #expect(pair.requestCount == 0)
  }

  // A child that is its own judge when its maker is gone.
  @Test("with its maker gone, or not registered any more, an endpoint's calls are rejected")
  func gone() async throws {
    let pair = try await ApprovalPair()
    pair.child.start("fetchResource", ["path": "x"])
    _ = await pair.maker.next()
    pair.maker.close(pair.bench)
    #expect(await pair.child.next()?["error"]?["code"] == -32020)
    #expect(await pair.child.call("fetchResource", ["path": "y"])["error"]?["code"] == -32020)
    let maker = pair.bench.connect(uid: 7)
    let child = try #require(pair.bench.connect(to: await maker.askingEndpoint(), pair.sockets))
    let none: JSONValue = []
    _ = await maker.call("registerDelegate", ["methods": none])
    #expect(await child.call("fetchResource", ["path": "x"])["error"]?["code"] == -32020)
    #expect(pair.requestCount == 0)
  }

  // A child that fills its maker's screen, or one answer that lets several calls pass.
  @Test("at most four questions are open, the same one once; once lets one of the calls pass that wait for it")
  func flood() async throws {
    let pair = try await ApprovalPair()
    for path in 0..<4 { pair.child.start("fetchResource", ["path": .string("\(path)")]) }
    for _ in 0..<2 { pair.child.start("fetchResource", ["path": "0"]) }
    var questions: [JSONValue] = []
    for _ in 0..<4 { questions.append(try #require(await pair.maker.next())) }
    #expect(await pair.child.call("fetchResource", ["path": "4"])["error"]?["code"] == -32009)
    let first = try #require(questions.first { $0["params"]?["path"] == "0" })
    pair.maker.answer(first, "once")
    #expect(await pair.child.next()?["result"]?["status"] == 200)
    let again = await pair.maker.next()
    #expect(again?["params"]?["path"] == "0" && pair.requestCount == 1)
    pair.maker.answer(again, "no")
    for _ in 0..<2 { #expect(await pair.child.next()?["error"]?["code"] == -32020) }
    #expect(pair.requestCount == 1)
    for question in questions where question["params"]?["path"] != "0" { pair.maker.answer(question, "always") }
    for _ in 0..<3 { #expect(await pair.child.next()?["result"]?["status"] == 200) }
  }

  // A method that acts for the user, and needs no approval.
  @Test("what only shows something is not put to the maker; every other method that waits is")
  func methods() async throws {
    let pair = try await ApprovalPair()
    for method in ["health", "getInfo", "listSessions", "listTasks", "listEndpoints"] {
      #expect(await pair.child.call(method)["result"] != nil)
    }
    let acting: [(String, JSONValue)] = [
      ("getAccessToken", JSONValue.object(JSONObject())), ("reloadConfig", JSONValue.object(JSONObject())),
      ("endSession", ["session": "x"]), ("introspectToken", ["issuer": "x", "token": "t"]),
    ]
    for (method, params) in acting {
      pair.child.start(method, params)
      let question = await pair.maker.next()
      #expect(question?["params"]?["method"]?.stringValue == method)
      pair.maker.answer(question, "no")
      #expect(await pair.child.next()?["error"]?["code"] == -32020)
    }
  }

  // A level above that is passed by because one below has agreed.
  @Test("every level is put to its own maker, the last one first, and all must agree")
  func levels() async throws {
    let pair = try await ApprovalPair()
    let below = await pair.child.askingEndpoint()
    let grandchild = try #require(pair.bench.connect(to: below, pair.sockets))
    grandchild.start("fetchResource", ["path": "x"])
    let inner = await pair.child.next()
    #expect(inner?["params"]?["chain"] == [.string(below)])
    pair.child.answer(inner, "once")
    let outer = await pair.maker.next()
    #expect(outer?["params"]?["chain"] == [.string(pair.id), .string(below)])
    #expect(outer?["params"]?["endpoint"]?.stringValue == pair.id && pair.requestCount == 0)
    pair.maker.answer(outer, "once")
    #expect(await grandchild.next()?["result"]?["status"] == 200)
    grandchild.start("fetchResource", ["path": "x"])
    pair.child.answer(await pair.child.next(), "no")
    #expect(await grandchild.next()?["error"]?["code"] == -32020)
    #expect(pair.requestCount == 1)
  }

  // An answer for one child that another one uses, or a child that hides behind an endpoint of its own.
  @Test("always is good for the chain that the question named, and for no other one below")
  func alwaysOfChain() async throws {
    let pair = try await ApprovalPair()
    let first = try #require(pair.bench.connect(to: await pair.child.endpoint(), pair.sockets))
    let second = try #require(pair.bench.connect(to: await pair.child.endpoint(), pair.sockets))
    first.start("fetchResource", Self.transfer())
    pair.maker.answer(await pair.maker.next(), "always")
    #expect(await first.next()?["result"]?["status"] == 200)
    #expect(await first.call("fetchResource", Self.transfer())["result"]?["status"] == 200)
    for other in [second, pair.child] {
      other.start("fetchResource", Self.transfer())
      let question = await pair.maker.next()
      #expect(question?["params"]?["chain"]?.arrayValue?.first == .string(pair.id))
      pair.maker.answer(question, "once")
      #expect(await other.next()?["result"]?["status"] == 200)
    }
    _ = await first.call("narrow", ["methods": ["fetchResource"]])
    first.start("fetchResource", Self.transfer())
    pair.maker.answer(await pair.maker.next(), "no")
    #expect(await first.next()?["error"]?["code"] == -32020)
    // What was rejected is not put again at once, whatever chain it comes through.
    #expect(await second.call("fetchResource", Self.transfer())["error"]?["code"] == -32020)
    #expect(pair.requestCount == 4)
  }

  // Answers for endpoints that are gone, which leave no space for those that are there.
  @Test("answers of chains that have ended make space for others")
  func keptAnswers() async throws {
    let pair = try await ApprovalPair()
    for number in 0...ApprovalStep.keptAnswers {
      let below = await pair.child.endpoint()
      let grandchild = try #require(pair.bench.connect(to: below, pair.sockets))
      grandchild.start("fetchResource", ["path": "x"])
      pair.maker.answer(await pair.maker.next(), "always")
      #expect(await grandchild.next()?["result"]?["status"] == 200)
      if number == ApprovalStep.keptAnswers {
        #expect(await grandchild.call("fetchResource", ["path": "x"])["result"]?["status"] == 200)
      }
      #expect(await pair.child.call("revokeEndpoint", ["endpoint": .string(below)])["result"]?["revoked"] == 1)
      pair.bench.clock.advance(by: .seconds(60))
    }
  }

  // A path so long that its end is not seen.
  @Test("a call with a path too long to be judged is rejected")
  func longPath() async throws {
    let pair = try await ApprovalPair()
    let path = String(repeating: "a", count: ApprovalStep.textBytes + 1)
    #expect(await pair.child.call("fetchResource", ["path": .string(path)])["error"]?["code"] == -32020)
  }

  // A call that waits for its approval, and goes on after the endpoint was revoked.
  @Test("revoking ends the calls that wait for an answer, and nothing is kept of the endpoint")
  func revoked() async throws {
    let pair = try await ApprovalPair()
    pair.child.start("fetchResource", ["path": "x"])
    let question = await pair.maker.next()
    #expect(await pair.maker.call("revokeEndpoint", ["endpoint": .string(pair.id)])["result"]?["revoked"] == 1)
    #expect(await pair.child.next()?["error"]?["message"] == "The endpoint was revoked")
    pair.maker.answer(question, "once")
    #expect(await pair.maker.call("listEndpoints")["result"]?["endpoints"] == [])
    #expect(pair.requestCount == 0 && pair.bench.service.calls.approval.levelCount == 0)
  }
}

extension BenchConnection {
  /// Makes an endpoint whose calls are put to this connection.
  func askingEndpoint(_ params: JSONObject = JSONObject()) async -> String {
    _ = await call("registerDelegate", ["methods": ["delegate.approveCall"]])
    var params = params
    params["approval"] = "ask"
    return await endpoint(params)
  }

  /// Answers a question.
  func answer(_ question: JSONValue?, _ answer: String) {
    self.answer(question, json: #""result":{"answer":"\#(answer)"}"#)
  }

  func answer(_ question: JSONValue?, json: String) {
    send(#"{"jsonrpc":"2.0","id":"\#(question?["id"]?.stringValue ?? "")",\#(json)}"#)
  }
}

@Suite struct ReadableQuestionTests {
  @Test("a question has a character that its reader does not see")
  func invisible() {
    for scalar in "\u{0}\u{7}\u{AD}\u{34F}\u{200B}\u{2028}\u{2029}\u{202E}\u{2800}\u{3164}\u{FE0F}\u{FEFF}\u{E01EF}"
      .unicodeScalars
    {
      #expect(!CallQuestion.isReadable(["a": .string("x\(scalar)y")]), "U+\(String(scalar.value, radix: 16))")
    }
    #expect(CallQuestion.isReadable(["a": "häuser straße 東京 مدينة π ≠ 😀 ⠁"]))
  }
}
