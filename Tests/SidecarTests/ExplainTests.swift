import HTTPMessages
import PosternJSON
import PosternObservability
import PosternSupport
import PosternTestSupport
import Testing

@testable import Sidecar

@Suite("explainCall: what a call would come to")
struct ExplainTests {
  private static let issuers = """
    issuers: { corp: { issuer: "https://idp.test", clientId: a, clientAuth: none,
      endpoints: { token: "https://idp.test/token" } } }
    """

  private static func steps(_ answer: JSONValue) -> [String: JSONValue] {
    var steps: [String: JSONValue] = [:]
    for step in answer["result"]?["steps"]?.arrayValue ?? [] { steps[step["step"]?.stringValue ?? ""] = step }
    return steps
  }

  private static func fetch(_ members: JSONObject) -> JSONValue {
    ["method": "fetchResource", "params": .object(members)]
  }

  /// Catches an explanation that sends the request, or gets a token for it.
  @Test("nothing is sent")
  func nothingIsSent() async throws {
    let bench = try SidecarBench(
      Self.issuers + """

        resources: { api: { baseUrl: "https://a.test/base/", issuer: corp, auth: clientCredentials } }
        """)
    let answer = await bench.connect().call("explainCall", Self.fetch(["path": "x", "parameters": ["a": 1]]))
    let steps = Self.steps(answer)
    #expect(answer["result"]?["allowed"] == true)
    #expect(steps["url"]?["details"]?["url"] == "https://a.test/base/x?a=1")
    #expect(steps["token"]?["verdict"] == "open")
    #expect(steps["token"]?["details"]?["tokenOf"] == "client")
    #expect(bench.transport.requests.isEmpty)
  }

  /// Catches a rejection whose words, code or path differ from those of the call.
  @Test(
    "a rejection has the words of the error",
    arguments: [
      ("fetchResource", #"{"resource":"opne"}"#), ("fetchResource", #"{"path":"../x"}"#),
      ("fetchResource", #"{"headers":{"Host":"x"}}"#), ("fetchResource", #"{"method":"TRACE"}"#),
      ("fetchResource", #"{"auth":"user"}"#), ("fetchResource", #"{"session":"short"}"#),
      ("fetchResource", #"{"auth":"credential"}"#), ("fetchResource", #"{"auth":"clientCredentials"}"#),
      ("fetchResource", #"{"meta":{"timeoutMs":0}}"#), ("fetchResource", #"[]"#), ("getInf", "{}"),
      ("listTasks", #"{"limit":"5"}"#), ("getAccessToken", "{}"), ("preauthorize", #"{"resources":[]}"#),
      ("getSession", #"{"session":"short"}"#),
      ("createSession", #"{"issuer":"a","grant":{"type":"implicit","profile":"p"}}"#),
    ])
  func words(method: String, params: String) async throws {
    let connection = try SidecarBench(CallTests.open).connect()
    connection.send(#"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":\#(params)}"#)
    let error = await connection.next()?["error"]
    connection.send(
      #"{"jsonrpc":"2.0","id":2,"method":"explainCall","params":{"method":"\#(method)","params":\#(params)}}"#)
    let steps = await connection.next()?["result"]?["steps"]?.arrayValue
    let rejection = steps?.first { $0["verdict"] == "rejects" }
    #expect(error != nil && rejection?["errorCode"] == error?["code"])
    #expect(rejection?["details"]?["reason"] == error?["data"]?["reason"])
    // Params that are no object are rejected before there is a path.
    guard params != "[]" else { return }
    #expect(rejection?["summary"] == error?["message"])
    #expect(rejection?["details"]?["path"] == error?["data"]?["path"])
  }

  /// Catches a token that is described as fresh behind its end, and one whose text is shown.
  @Test("a session's token is described by the clock")
  func token() async throws {
    let bench = try SidecarBench(
      Self.issuers + """

        resources: { api: { baseUrl: "https://a.test/base/", issuer: corp, auth: user } }
        """)
    let connection = bench.connect()
    let grant: JSONValue = ["type": "tokens", "accessToken": "secret-of-a-token", "expiresIn": 100]
    let made = await connection.call("createSession", ["issuer": "corp", "grant": grant])
    let session = try #require(made["result"]?["session"])
    let explained = Self.fetch(["path": "x", "session": session])
    var step = Self.steps(await connection.call("explainCall", explained))["token"]
    #expect(step?["verdict"] == "passes")
    #expect(step?["details"]?["freshForMs"] == 90_000)
    #expect(step.map { JSONWriter().string($0).contains("secret-of") } == false)
    bench.clock.advance(by: .seconds(95))
    step = Self.steps(await connection.call("explainCall", explained))["token"]
    #expect(step?["verdict"] == "passes", "it has not expired, and cannot be refreshed")
    #expect(step?["details"]?["freshForMs"] == nil)
    bench.clock.advance(by: .seconds(10))
    step = Self.steps(await connection.call("explainCall", explained))["token"]
    let error = await connection.call("fetchResource", ["path": "x", "session": session])["error"]
    #expect(step?["errorCode"] == error?["code"])
    #expect(bench.transport.requests.isEmpty)
  }

  /// Catches ports that are compared with those of the resource although a proxy is in between, or not at all.
  @Test("the sandbox's ports and the way out are shown")
  func waysOut() async throws {
    var report = HardeningReport()
    report.landlock.connectPorts = [443]
    let bench = try SidecarBench(
      """
      resources: {
        near: { baseUrl: "https://a.test/", auth: none }, far: { baseUrl: "https://a.test:8443/", auth: none } }
      """, hardening: { [report] in report })
    let connection = bench.connect()
    var steps = Self.steps(await connection.call("explainCall", Self.fetch(["resource": "near"])))
    #expect(steps["sandbox"]?["verdict"] == "passes")
    #expect(steps["outbound"]?["details"]?["route"] == "direct")
    steps = Self.steps(await connection.call("explainCall", Self.fetch(["resource": "far"])))
    #expect(steps["sandbox"]?["verdict"] == "rejects")
    #expect(steps["sandbox"]?["details"]?["port"] == 8443)
  }

  /// Catches a rule that is described by another one's position, and counts of other users in a bounded rule's view.
  @Test("the rule that matches is shown, and of all calls nothing where it hides something")
  func rule() async throws {
    let bench = try SidecarBench(
      """
      peers:
        - { uid: 77, methods: [getInfo] }
        - { uid: 78, methods: [explainCall, fetchResource], resources: [open], rate: { perSecond: 1, burst: 3 } }
      resources: { open: { baseUrl: "https://a.test/base/", auth: none } }
      """)
    let connection = bench.connect(uid: 78)
    var steps = Self.steps(await connection.call("explainCall", Self.fetch(["path": "x"])))
    #expect(steps["peerRule"]?["details"]?["index"] == 1)
    #expect(steps["peerRule"]?["details"]?["resources"] == ["open"])
    #expect(steps["inFlight"]?["details"] == nil)
    #expect(steps["rate"]?["verdict"] == "passes")
    steps = Self.steps(await connection.call("explainCall", ["method": "getInfo"]))
    #expect(steps["peerRule"]?["errorCode"] == -32020)
    steps = Self.steps(await connection.call("explainCall", ["method": "fetchResource"]))
    #expect(steps["rate"]?["errorCode"] == -32009, "the explanations have used up the rate")
  }
}
