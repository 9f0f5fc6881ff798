import AuthEngine
import HTTPMessages
import PosternJSON
import PosternObservability
import PosternSupport
import PosternTestSupport
import Sidecar
import Testing

/// Fetches that wait for advice, by their continuations: for how long, for whom, how many, and that they stay what they
/// were.
@Suite struct StoppedFetchTests {
  private static func yaml(_ base: String = "https://api.test/shop/") -> String {
    """
    issuers: { am: { issuer: "https://idp.test", clientId: shop, clientSecret: s, redirectUri: "https://shop.test/cb",
      endpoints: { token: "https://idp.test/token" }, accessManager: { baseUrl: "https://am.test/am", realm: alpha, cookieName: c } } }
    resources: { api: { baseUrl: "\(base)", issuer: am, auth: user, advice: { wait: 60s } } }
    peers: [ { uid: \(SidecarBench.ownUID), methods: ["*"] }, { uid: 7777, methods: ["*"] } ]
    """
  }

  private static let denial = HTTPResponse(
    status: 403, body: Array(#"{"advices":{"AuthenticateToServiceConditionAdvice":["Confirm"]}}"#.utf8))

  /// A bench whose gateway denies until the flag is set; then it fails once as `failure` defines.
  private static func bench(
    _ isOpen: Locked<Bool>, failure: Locked<TransportError?> = Locked(nil)
  ) throws -> SidecarBench {
    try SidecarBench(yaml()) { request, _ async throws(TransportError) in
      guard request.url.origin.host.hasPrefix("api") else { return HTTPResponse(status: 500) }
      if let error = failure.withLock({ $0.take() }) { throw error }
      let text = HTTPFields([.init(name: "Content-Type", value: "text/plain")])
      return isOpen.withLock { $0 } ? HTTPResponse(status: 200, fields: text, body: request.body ?? []) : denial
    }
  }

  private static func session(_ connection: BenchConnection) async throws -> JSONValue {
    let grant: JSONValue = ["type": "tokens", "accessToken": "secret-token", "expiresIn": 3600]
    return try #require(
      await connection.call("createSession", ["issuer": "am", "grant": grant])["result"]?["session"])
  }

  private static func stopped(_ connection: BenchConnection, _ params: JSONObject = JSONObject()) async -> JSONValue {
    var params = params
    params["path"] = params["path"] ?? "pay"
    params["session"] = params["session"] ?? "only"
    return await connection.call("fetchResource", .object(params))["error"] ?? .null
  }

  private static func metric(_ name: String, _ connection: BenchConnection) async -> String? {
    let text = await connection.call("metrics")["result"]?["text"]?.stringValue ?? ""
    return text.split(separator: "\n").first { $0.hasPrefix("\(name) ") }.map { String($0.dropFirst(name.count + 1)) }
  }

  @Test("A continuation expires before or after the time that the response states", arguments: [false, true])
  func expiry(isLate: Bool) async throws {
    let isOpen = Locked(false)
    let bench = try Self.bench(isOpen)
    let connection = bench.connect()
    _ = try await Self.session(connection)
    let fault = await Self.stopped(connection, ["method": "POST", "body": "ten coins"])
    #expect(fault["code"] == 1017)
    let continuation = try #require(fault["data"]?["continuation"])
    #expect(await Self.metric("postern_fetches_stopped", connection) == "1")
    bench.clock.advance(by: .seconds(60) - .milliseconds(isLate ? 0 : 1))
    isOpen.withLock { $0 = true }
    let answer = await connection.call("fetchResource", ["continuation": continuation])
    if isLate {
      #expect(answer["error"]?["code"] == 3002)
      #expect(
        await connection.call("authenticateWithAdvice", ["continuation": continuation])["error"]?["code"] == 3002)
    } else {
      #expect(answer["result"]?["body"] == "ten coins")
      let sent = try #require(bench.transport.requests.last)
      #expect(sent.method == "POST" && "\(sent.url)" == "https://api.test/shop/pay")
      #expect(await connection.call("fetchResource", ["continuation": continuation])["error"]?["code"] == 3002)
    }
    #expect(await Self.metric("postern_fetches_stopped", connection) == "0")
  }

  @Test("Another user's process goes on with a fetch, or uses its continuation up")
  func peers() async throws {
    let isOpen = Locked(false)
    let bench = try Self.bench(isOpen)
    let connection = bench.connect()
    _ = try await Self.session(connection)
    let continuation = try #require(await Self.stopped(connection)["data"]?["continuation"])
    let other = bench.connect(uid: 7777)
    for method in ["fetchResource", "authenticateWithAdvice"] {
      #expect(await other.call(method, ["continuation": continuation])["error"]?["code"] == 3002)
    }
    isOpen.withLock { $0 = true }
    bench.service.closed(connection: connection.number, conversation: connection.conversation)
    let answer = await bench.connect().call("fetchResource", ["continuation": continuation])
    #expect(answer["result"]?["status"] == 200, "its own user's, on another connection")
  }

  @Test("What a user agreed to for one URL is sent to another that was configured since")
  func moved() async throws {
    let isOpen = Locked(false)
    let bench = try Self.bench(isOpen)
    let connection = bench.connect()
    _ = try await Self.session(connection)
    let continuation = try #require(await Self.stopped(connection)["data"]?["continuation"])
    isOpen.withLock { $0 = true }
    bench.write(Self.yaml("https://api2.test/shop/"))
    _ = await connection.call("reloadConfig")
    let count = bench.transport.requests.count
    #expect(await connection.call("fetchResource", ["continuation": continuation])["error"]?["code"] == 3002)
    #expect(bench.transport.requests.count == count)
    bench.write(Self.yaml())
    _ = await connection.call("reloadConfig")
    #expect(
      await connection.call("fetchResource", ["continuation": continuation])["result"]?["status"] == 200)
  }

  @Test("A fetch that was not sent has used up the user's consent, or one that was sent has not")
  func unsent() async throws {
    for (outcome, isKept) in [(TransportError.Outcome.notSent, true), (.sentNoReply, false)] {
      let isOpen = Locked(false)
      let failure = Locked<TransportError?>(nil)
      let bench = try Self.bench(isOpen, failure: failure)
      let connection = bench.connect()
      _ = try await Self.session(connection)
      let continuation = try #require(await Self.stopped(connection)["data"]?["continuation"])
      isOpen.withLock { $0 = true }
      failure.withLock { $0 = TransportError(code: .serverUnreachable, outcome: outcome, detail: "") }
      let fault = await connection.call("fetchResource", ["continuation": continuation])["error"]
      #expect(fault?["code"] == 1009 && fault?["data"]?["outcome"] == .string(outcome.rawValue))
      let again = await connection.call("fetchResource", ["continuation": continuation])
      #expect((again["result"]?["status"] == 200) == isKept && (again["error"]?["code"] == 3002) == !isKept)
    }
  }

  @Test("One peer's suspended fetches have no limit, or leave no capacity for another's")
  func number() async throws {
    let bench = try Self.bench(Locked(false))
    for uid in [SidecarBench.ownUID, 7777] {
      let connection = bench.connect(uid: uid)
      _ = try await Self.session(connection)
      for _ in 0..<40 { #expect(await Self.stopped(connection)["data"]?["continuation"] != nil) }
    }
    let connection = bench.connect()
    #expect(await Self.metric("postern_fetches_stopped", connection) == "64")
    bench.clock.advance(by: .seconds(60))
    #expect(await Self.stopped(connection)["data"]?["continuation"] != nil)
    #expect(await Self.metric("postern_fetches_stopped", connection) == "1")
  }

  /// Would catch: a logged-in user of a web application, whose users are one uid, who keeps all others from stepping up
  /// by a page that requires it, loaded again and again.
  @Test("One session's suspended fetches, in number or bytes, keep out or replace those of another session")
  func sessions() async throws {
    for body in ["", String(repeating: "x", count: 4 << 20)] {
      let isOpen = Locked(false)
      let bench = try Self.bench(isOpen)
      let connection = bench.connect()
      let (mallory, bob) = (try await Self.session(connection), try await Self.session(connection))
      func stop(_ session: JSONValue) async throws -> JSONValue {
        let params: JSONObject = ["session": session, "method": "POST", "body": .string(session == bob ? "" : body)]
        return try #require(await Self.stopped(connection, params)["data"]?["continuation"])
      }
      let bobs = try await stop(bob)
      var mallorys: [JSONValue] = []
      for _ in 0..<40 { mallorys.append(try await stop(mallory)) }
      let second = try await stop(bob)
      isOpen.withLock { $0 = true }
      for (continuation, isKept) in [(bobs, true), (second, true), (mallorys[0], false), (mallorys[39], true)] {
        let answer = await connection.call("fetchResource", ["continuation": continuation])
        // What was replaced ends as what has expired.
        #expect(isKept ? answer["result"]?["status"] == 200 : answer["error"]?["code"] == 3002)
      }
    }
  }

  @Test(
    "A connection closed during its delegate's request removes the continuation; a cancelled fetch leaves it behind"
  )
  func delegates() async throws {
    for isCancelled in [false, true] {
      let isOpen = Locked(false)
      let bench = try Self.bench(isOpen)
      let connection = bench.connect()
      _ = try await Self.session(connection)
      _ = await connection.call("registerDelegate", ["methods": ["delegate.onPolicyAdviceReceived"]])
      let id = connection.start("fetchResource", ["session": "only", "path": "pay"])
      let question = await connection.next()
      #expect(question?["method"] == "delegate.onPolicyAdviceReceived")
      let continuation = try #require(question?["params"]?["continuation"])
      if isCancelled {
        connection.send(#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":\#(id)}}"#)
        #expect(await connection.next()?["error"]?["code"] == -32800)
      } else {
        bench.service.closed(connection: connection.number, conversation: connection.conversation)
      }
      isOpen.withLock { $0 = true }
      let other = bench.connect()
      var answer = JSONValue.null
      // Until the abandoned fetch has released its task's name.
      repeat {
        answer = await other.call("fetchResource", ["continuation": continuation])
      } while answer["error"]?["code"] == -32602
      #expect(answer["error"]?["code"] == (isCancelled ? 3002 : nil))
      #expect(answer["result"]?["status"] == (isCancelled ? nil : 200))
    }
  }
}
