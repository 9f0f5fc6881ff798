import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

/// The delegate requests about policy advice, each with its default: for silence, errors and nonsense, in the time that
/// is configured.
@Suite struct PolicyDelegateTests {
  private static let yaml = """
    issuers: { am: { issuer: "https://idp.test", clientId: shop, clientSecret: s, redirectUri: "https://shop.test/cb",
      endpoints: { token: "https://idp.test/token" }, accessManager: { baseUrl: "https://am.test/am", realm: alpha, cookieName: c } } }
    resources: { api: { baseUrl: "https://api.test/", issuer: am, auth: user, timeout: 10s, advice: { wait: 60s } } }
    """

  /// A gateway that wants a transaction unless the request names it.
  private static func connection() async throws -> (SidecarBench, BenchConnection) {
    let bench = try SidecarBench(yaml) { request, _ async throws(TransportError) in
      if request.url.query == "_txid=t-1" { return HTTPResponse(status: 200) }
      return HTTPResponse(status: 403, body: Array(#"{"advices":{"TransactionConditionAdvice":["t-1"]}}"#.utf8))
    }
    let connection = bench.connect()
    let grant: JSONValue = ["type": "tokens", "accessToken": "secret-token", "expiresIn": 3600]
    _ = try #require(await connection.call("createSession", ["issuer": "am", "grant": grant])["result"])
    return (bench, connection)
  }

  private static let answers = [
    nil, #""error":{"code":1,"message":"no"}"#, #""result":null"#, #""result":[]"#, #""result":"x""#, #""result":{}"#,
    #""result":{"satisfied":1,"advices":{},"url":1,"headers":[]}"#,
  ]

  @Test(
    "No answer, or nonsense, about the user's consent counts as yes, or delays the fetch longer", arguments: answers)
  func received(answer: String?) async throws {
    let (bench, connection) = try await Self.connection()
    _ = await connection.call("registerDelegate", ["methods": ["delegate.onPolicyAdviceReceived"]])
    connection.start("fetchResource", ["session": "only", "path": "pay"])
    let question = try #require(await connection.next())
    #expect(question["params"]?["advices"]?.arrayValue?.first?["txId"] == "t-1")
    await reply(answer, to: question, bench, connection)
    let fault = await connection.next()?["error"]
    #expect(fault?["code"] == 1017)
    #expect(fault?["data"]?["continuation"] == question["params"]?["continuation"])
  }

  @Test("Silence and nonsense about an answer hide the advice in it", arguments: answers)
  func evaluated(answer: String?) async throws {
    let (bench, connection) = try await Self.connection()
    _ = await connection.call("registerDelegate", ["methods": ["delegate.evaluateAuthorizationPolicy"]])
    connection.start("fetchResource", ["session": "only", "path": "pay", "timeoutMs": 90_000])
    let question = try #require(await connection.next())
    #expect(question["method"] == "delegate.evaluateAuthorizationPolicy" && question["params"]?["status"] == 403)
    await reply(answer, to: question, bench, connection)
    #expect(await connection.next()?["error"]?["data"]?["advice"]?["txId"] == "t-1")
  }

  @Test("Silence and nonsense about the request leave the transaction out", arguments: answers)
  func updated(answer: String?) async throws {
    let (bench, connection) = try await Self.connection()
    let methods: JSONValue = ["delegate.onPolicyAdviceReceived", "delegate.updateRequest"]
    _ = await connection.call("registerDelegate", ["methods": methods])
    connection.start("fetchResource", ["session": "only", "path": "pay", "timeoutMs": 90_000])
    let first = try #require(await connection.next())
    await reply(#""result":{"satisfied":true}"#, to: first, bench, connection)
    let question = try #require(await connection.next())
    #expect(question["method"] == "delegate.updateRequest" && question["params"]?["txId"] == "t-1")
    await reply(answer, to: question, bench, connection)
    let message = await connection.next()
    // An object without changes is an answer: the request is sent unchanged, and is denied for its transaction.
    let isAnswer = answer == #""result":{}"#
    #expect(message?["result"]?["status"] == (isAnswer ? nil : 200))
    #expect(message?["error"]?["code"] == (isAnswer ? 1018 : nil))
  }

  @Test(
    "A delegate holds a call longer than its `timeoutMs`",
    arguments: [
      "delegate.onPolicyAdviceReceived", "delegate.evaluateAuthorizationPolicy", "delegate.updateRequest",
      "delegate.evaluateTokenRefresh",
    ])
  func bound(method: String) async throws {
    let (bench, connection) = try await Self.connection()
    let offered: JSONValue = [.string(method), "delegate.onPolicyAdviceReceived"]
    _ = await connection.call("registerDelegate", ["methods": offered])
    connection.start("fetchResource", ["session": "only", "path": "pay", "timeoutMs": 5000])
    var question = try #require(await connection.next())
    if method == "delegate.updateRequest" {
      await reply(#""result":{"satisfied":true}"#, to: question, bench, connection)
      question = try #require(await connection.next())
    }
    // About advice first, and then no more: the time is over.
    let isExpected = question["method"]?.stringValue == method || method == "delegate.evaluateTokenRefresh"
    #expect(isExpected)
    // With advice the fetch waits, and the delegate does: the task that ends the call must sleep already.
    let sleepers = question["method"] == "delegate.onPolicyAdviceReceived" ? 2 : 1
    #expect(await eventually { bench.clock.sleeperCount >= sleepers })
    bench.clock.advance(by: .seconds(5))
    let message = await connection.next()
    // What the scripted upstream answers at once takes no time.
    let isOver = message?["error"]?["code"] == -32022 || message?["result"]?["status"] == 200
    #expect(isOver && bench.clock.monotonicNow.nanoseconds < 10_000_000_000)
  }

  private func reply(
    _ answer: String?, to question: JSONValue, _ bench: SidecarBench, _ connection: BenchConnection
  ) async {
    if let answer {
      connection.send(#"{"jsonrpc":"2.0","id":"\#(question["id"]?.stringValue ?? "")",\#(answer)}"#)
    } else {
      // As long as configured, and not a moment longer.
      #expect(await eventually { bench.clock.sleeperCount > 0 })
      bench.clock.advance(by: .seconds(60))
    }
  }
}
