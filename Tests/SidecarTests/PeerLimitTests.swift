import HTTPMessages
import PosternJSON
import PosternJSONRPC
import PosternSupport
import PosternTestSupport
import Testing

@testable import PosternObservability
@testable import Sidecar

/// `rate` and `concurrency` of a rule of `peers`.
@Suite("Limits of callers", .timeLimit(.minutes(1)))
struct PeerLimitTests {
  private static func rules(_ first: String) -> String {
    """
    peers:
      - { uid: 7, methods: ["*"], \(first) }
      - { gid: 30, methods: ["*"], rate: { perSecond: 1, burst: 1 } }
      - { uid: 9, methods: ["*"] }
    resources:
      open: { baseUrl: "https://a.test/", auth: none }
    """
  }

  private static func reason(_ answer: JSONValue) -> String? { answer["error"]?["data"]?["reason"]?.stringValue }

  @Test("calls that wait for a login take the slots of other calls, or one user begins any number")
  func waiting() {
    let peers = PeerRateLimiter(clock: ManualClock())
    var begun = 0
    while begun <= PeerRateLimiter.maxWaiting, peers.beginWaiting(uid: 7) { begun += 1 }
    #expect(begun == PeerRateLimiter.maxWaiting)
    #expect(peers.beginWaiting(uid: 8))
    peers.endWaiting(uid: 7)
    #expect(peers.beginWaiting(uid: 7))
    #expect(!peers.beginWaiting(uid: 7))
    #expect(peers.count == 0)
  }

  @Test("calls over the rate limit are rejected with the time until the next is accepted; other users do not wait")
  func rate() async throws {
    let bench = try SidecarBench(Self.rules("rate: { perSecond: 4, burst: 3 }"))
    let (one, two) = (bench.connect(uid: 7), bench.connect(uid: 7))
    for connection in [one, two, one] { #expect(await connection.call("listTasks")["result"] != nil) }
    let rejected = await two.call("listTasks")
    #expect(rejected["error"]?["code"] == -32009)
    let data = rejected["error"]?["data"]
    #expect(data?["retryable"] == true && data?["outcome"] == "not_sent")
    let wait = try #require(data?["retryAfterMs"]?.integerValue)
    #expect((240...260).contains(wait))
    #expect(await bench.connect(uid: 9).call("listTasks")["result"] != nil)
    bench.clock.advance(by: .milliseconds(wait))
    #expect(await one.call("listTasks")["result"] != nil)
    #expect(Self.reason(await one.call("listTasks")) == "overloaded")
    let text = await bench.connect(uid: 9).call("metrics")["result"]?["text"]?.stringValue
    #expect(text?.contains(#"postern_rpc_refused_total{reason="rate"} 2"#) == true)
  }

  @Test("what is not allowed, unknown or wrong counts, and so do notifications and each member of a batch")
  func everythingCounts() async throws {
    let bench = try SidecarBench(Self.rules("rate: { perSecond: 1, burst: 5 }"))
    let connection = bench.connect(uid: 7)
    #expect(Self.reason(await connection.call("noSuchMethod")) == "method_not_found")
    #expect(Self.reason(await connection.call("getTask", ["x": 1])) == "invalid_params")
    connection.send(#"{"jsonrpc":"2.0","method":"listTasks"}"#)
    connection.send(
      #"[{"jsonrpc":"2.0","id":1,"method":"listTasks"},{"jsonrpc":"2.0","id":2,"method":"listTasks"},"#
        + #"{"jsonrpc":"2.0","id":3,"method":"listTasks"}]"#)
    let answers = await connection.next()?.arrayValue ?? []
    #expect(answers.map { $0["error"]?["code"]?.integerValue } == [nil, nil, -32009])
  }

  @Test("as many answers as the sidecar has open requests are accepted without a slot, and no more")
  func answering() {
    let ledger = PeerRateLimiter(clock: ManualClock())
    #expect(!ledger.beginAnswering(uid: 1, among: 0))
    #expect(ledger.beginAnswering(uid: 1, among: 2) && ledger.beginAnswering(uid: 1, among: 2))
    #expect(!ledger.beginAnswering(uid: 1, among: 2))
    #expect(ledger.beginAnswering(uid: 2, among: 1))
    ledger.endAnswering(uid: 1)
    #expect(ledger.beginAnswering(uid: 1, among: 2))
  }

  @Test("probes are answered when nothing else is, and are no way around the rate either")
  func probes() async throws {
    let bench = try SidecarBench(Self.rules("rate: { perSecond: 1, burst: 1 }"))
    let connection = bench.connect(uid: 7)
    _ = await connection.call("listTasks")
    #expect(Self.reason(await connection.call("listTasks")) == "overloaded")
    for _ in 0..<PeerRateLimiter.probeRate.burst { #expect(await connection.call("health")["result"] != nil) }
    #expect(Self.reason(await connection.call("getInfo")) == "overloaded")
    bench.clock.advance(by: .milliseconds(200))
    #expect(await connection.call("getInfo")["result"] != nil)
  }

  @Test(
    "a large message is parsed unless all of its calls are rejected; it is rejected in the same way as a small one")
  func largeMessages() async throws {
    let bench = try SidecarBench(
      Self.rules("rate: { perSecond: 1, burst: 2 }").replacing(
        "{ uid: 9, methods: [\"*\"] }", with: "{ uid: 9, methods: [getTask] }"))
    // The name occurs twice: a parser reports that.
    let params = #"{"x":1,"x":["\#(String(repeating: "y", count: 5000))"]}"#
    func request(_ id: Int, _ method: String) -> String {
      #"{"jsonrpc":"2.0","id":\#(id),"method":"\#(method)","params":\#(params)}"#
    }
    let (limited, narrow, stranger) = (bench.connect(uid: 7), bench.connect(uid: 9), bench.connect(uid: 10))
    limited.send(request(1, "listTasks"))
    #expect(Self.reason(await limited.next() ?? .null) == "parse_error")
    for _ in 0..<2 { _ = await limited.call("listTasks") }
    for (connection, method, reason) in [
      (limited, "listTasks", "overloaded"), (narrow, "listTasks", "peer_forbidden"), (narrow, "no", "method_not_found"),
      (stranger, "getTask", "peer_forbidden"), (narrow, "getTask", "parse_error"),
    ] {
      connection.send(request(7, method))
      let answer = try #require(await connection.next())
      #expect(Self.reason(answer) == reason)
      #expect(answer["id"] == (reason == "parse_error" ? .null : 7))
    }
    narrow.send("[\(request(1, "a")),\(request(2, "listTasks"))]")
    #expect(await narrow.next()?.arrayValue?.map(Self.reason) == ["method_not_found", "peer_forbidden"])
    narrow.send("[\(request(1, "a")),\(request(2, "getTask"))]")
    #expect(Self.reason(await narrow.next() ?? .null) == "parse_error")
    #expect(bench.service.messageBytes(for: Peer(uid: 10, gid: 0, groups: [])) == 65_536)
    #expect(bench.service.messageBytes(for: Peer(uid: 9, gid: 0, groups: [])) == nil)
  }

  @Test("the uids that a rule matches by their group have a bucket each")
  func group() async throws {
    let bench = try SidecarBench(Self.rules("rate: { perSecond: 1, burst: 1 }"))
    for uid in UInt32(100)...110 {
      let connection = bench.connect(uid: uid, gid: 30)
      #expect(await connection.call("listTasks")["result"] != nil)
      #expect(Self.reason(await connection.call("listTasks")) == "overloaded")
    }
  }

  @Test("a reload keeps the buckets: it is no way to call more often, also where the rate changes")
  func reload() async throws {
    let bench = try SidecarBench(Self.rules("rate: { perSecond: 1, burst: 10 }"))
    let (connection, other) = (bench.connect(uid: 7), bench.connect(uid: 9))
    for _ in 0..<10 { _ = await connection.call("listTasks") }
    #expect(await other.call("reloadConfig")["result"] != nil)
    #expect(Self.reason(await connection.call("listTasks")) == "overloaded")
    bench.write(Self.rules("rate: { perSecond: 2, burst: 12 }"))
    #expect(await other.call("reloadConfig")["result"] != nil)
    for _ in 0..<2 { #expect(await connection.call("listTasks")["result"] != nil) }
    #expect(Self.reason(await connection.call("listTasks")) == "overloaded")
  }

  @Test("calls over the concurrency limit are rejected, on every connection, until one has completed")
  func concurrency() async throws {
    let gate = Gate()
    let bench = try SidecarBench(Self.rules("concurrency: 2")) { _, _ async throws(TransportError) in
      await gate.pass()
      return HTTPResponse(status: 200)
    }
    let (one, two) = (bench.connect(uid: 7), bench.connect(uid: 7))
    one.start("fetchResource", ["resource": "open"])
    two.start("fetchResource", ["resource": "open"])
    let rejected = await one.call("fetchResource", ["resource": "open"])
    #expect(Self.reason(rejected) == "overloaded" && rejected["error"]?["data"]?["limit"] == 2)
    // What waits for nothing is not under way.
    #expect(await one.call("listTasks")["result"] != nil)
    gate.open()
    #expect(await one.next()?["result"]?["status"] == 200)
    #expect(await two.next()?["result"]?["status"] == 200)
    #expect(await one.call("fetchResource", ["resource": "open"])["result"]?["status"] == 200)
    let ledger = bench.service.calls.rateLimit.limiter
    #expect(await eventually { ledger.count == 0 })
  }

  @Test("a slot is free again when a call is cancelled and when its connection is closed")
  func slotsAreReleased() async throws {
    let gate = Gate()
    let bench = try SidecarBench(Self.rules("concurrency: 1")) { _, _ async throws(TransportError) in
      await gate.pass()
      return HTTPResponse(status: 200)
    }
    let (one, two) = (bench.connect(uid: 7), bench.connect(uid: 7))
    let id = one.start("fetchResource", ["resource": "open"])
    #expect(Self.reason(await two.call("fetchResource", ["resource": "open"])) == "overloaded")
    one.send(#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":\#(id)}}"#)
    #expect(await one.next()?["error"]?["code"] == -32800)
    gate.open()
    let ledger = bench.service.calls.rateLimit.limiter
    #expect(await eventually { ledger.count == 0 })
    #expect(await two.call("fetchResource", ["resource": "open"])["result"]?["status"] == 200)
  }

  @Test("uids are removed when there is nothing to store of them, and the number of stored uids is limited")
  func bounded() {
    let clock = ManualClock()
    let ledger = PeerRateLimiter(clock: clock)
    var rule = AccessRules.Rule(uid: nil, gid: 30, methods: nil)
    rule.rate = RateLimit(perSecond: 1, burst: 1)
    for uid in 0..<UInt32(PeerRateLimiter.capacity + 100) { _ = ledger.admit(rule, uid: uid, isProbe: false) }
    #expect(ledger.count == PeerRateLimiter.capacity)
    clock.advance(by: .seconds(10))
    _ = ledger.admit(rule, uid: 1_000_000, isProbe: false)
    #expect(ledger.count == 1)
  }
}
