import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@testable import PosternObservability
@testable import Sidecar

/// `createEndpoint`, `listEndpoints`, `revokeEndpoint`, and what ends an endpoint.
@Suite("Endpoints", .timeLimit(.minutes(1)))
struct EndpointTests {
  private static let yaml = """
    peers:
      - { uid: 7, methods: ["*"] }
      - { uid: 8, methods: ["*"] }
    resources:
      api: { baseUrl: "https://a.test/", auth: none }
      other: { baseUrl: "https://b.test/", auth: none }
    """

  private static func bench(
    script: @escaping ScriptedTransport.Script = { _, _ async throws(TransportError) in HTTPResponse(status: 200) }
  ) throws -> (SidecarBench, ScriptedSockets) {
    let bench = try SidecarBench(yaml, script: script)
    return (bench, bench.use(ScriptedSockets()))
  }

  private static let wrong: [(JSONObject, String)] = {
    var pairs: [(JSONObject, String)] = []
    for label in ["", "a\u{202E}b", "a\nb", String(repeating: "x", count: 65)] {
      pairs.append((["label": .string(label)], "/label"))
    }
    for lifetime in [Int64(0), 2_592_000_001] { pairs.append((["expiresInMs": .integer(lifetime)], "/expiresInMs")) }
    pairs.append((["bindTo": ["pid": 0]], "/bindTo/pid"))
    pairs.append((["bindTo": "process"], "/bindTo"))
    pairs.append((["bindTo": ["pid": 4_294_967_296]], "/bindTo"))
    pairs.append((["bindTo": ["pid": 5], "descriptor": true], "/descriptor"))
    pairs.append((["approval": "ask"], "/approval"))
    return pairs
  }()

  private static let errors: [(EndpointSocketError, Int64, String?)] = [
    (.noGateway, -32602, "/http"), (.noDirectory, -32602, "/descriptor"), (.noProcess, -32602, "/bindTo/pid"),
    (.exhausted, -32009, nil), (.full("ENOSPC"), -32009, nil), (.failed("EIO"), -32603, nil),
  ]

  private static func path(_ answer: JSONValue) -> String? { answer["error"]?["data"]?["path"]?.stringValue }

  // A result without the path, or an expiry of the wrong clock; a description that leaves out what it was made with.
  @Test("an endpoint is made, listed and used")
  func made() async throws {
    let (bench, sockets) = try Self.bench()
    let maker = bench.connect(uid: 7)
    let result = await maker.call(
      "createEndpoint", ["resources": ["api"], "label": "job 1", "expiresInMs": 60_000, "http": true])["result"]
    let id = try #require(result?["endpoint"]?.stringValue)
    #expect(id.hasPrefix("ep_") && id.utf8.count == 25)
    #expect(result?["path"]?.stringValue == "/run/\(id)")
    #expect(result?["http"]?["path"]?.stringValue == "/run/\(id).http")
    let expiry = bench.clock.wallNow + .seconds(60)
    #expect(result?["expiresAt"]?.stringValue == expiry.rfc3339)
    let child = try #require(bench.connect(to: id, sockets))
    #expect(await child.call("fetchResource", ["resource": "api", "path": "x"])["result"]?["status"] == 200)
    #expect(await child.call("fetchResource", ["resource": "other", "path": "x"])["error"]?["code"] == -32602)
    let listed = await maker.call("listEndpoints")["result"]?["endpoints"]?.arrayValue
    let entry = try #require(listed?.first)
    #expect(listed?.count == 1 && entry["endpoint"]?.stringValue == id && entry["label"] == "job 1")
    #expect(entry["limits"] == ["resources": ["api"]] && entry["connections"] == 1 && entry["callsUnderWay"] == 0)
    #expect(entry["chain"] == [] && entry["expiresAt"]?.stringValue == expiry.rfc3339)
  }

  // A check that is missing: each of these would make an endpoint that cannot work, or more than was meant.
  @Test(
    "params that cannot be are -32602 at their path",
    arguments: Self.wrong)
  func invalid(params: JSONObject, path: String) async throws {
    let (bench, sockets) = try Self.bench()
    let answer = await bench.connect(uid: 7).call("createEndpoint", .object(params))
    #expect(answer["error"]?["code"] == -32602 && Self.path(answer) == path)
    #expect(sockets.open.isEmpty && bench.service.endpoints.counts.open == 0)
  }

  // An endpoint without sockets that stays in lists, and counts.
  @Test(
    "without sockets there is no endpoint",
    arguments: Self.errors)
  func withoutSockets(error: EndpointSocketError, code: Int64, path: String?) async throws {
    let (bench, sockets) = try Self.bench()
    sockets.fail(error)
    let maker = bench.connect(uid: 7)
    let answer = await maker.call("createEndpoint", JSONValue.object(JSONObject()))
    #expect(answer["error"]?["code"] == .integer(code) && Self.path(answer) == path)
    #expect(await maker.call("listEndpoints")["result"]?["endpoints"] == [])
    #expect(bench.metrics("postern_endpoints") == ["postern_endpoints 0", "postern_endpoints_created_total 0"])
  }

  // A call that goes on upstream after its endpoint was revoked, or a connection that stays open.
  @Test("revoking ends calls in flight, upstream too, connections, descendants and sockets")
  func revoked() async throws {
    let stopped = Locked(0)
    let (bench, sockets) = try Self.bench { _, _ async throws(TransportError) in
      try? await Task.sleep(for: .seconds(3600))
      stopped.withLock { $0 += 1 }
      throw TransportError(code: .cancelled, outcome: .sentNoReply, detail: "stopped")
    }
    let maker = bench.connect(uid: 7)
    let id = await maker.endpoint()
    let child = try #require(bench.connect(to: id, sockets))
    let below = await child.endpoint()
    let grandchild = try #require(bench.connect(to: below, sockets))
    for connection in [child, grandchild] { connection.start("fetchResource", ["resource": "api", "path": "x"]) }
    while bench.transport.requests.count < 2 { await Task.yield() }
    let listed = await maker.call("listEndpoints")["result"]?["endpoints"]?.arrayValue
    #expect(listed?.map { $0["callsUnderWay"] } == [2, 1] && listed?.last?["chain"] == [.string(id)])
    #expect(await maker.call("revokeEndpoint", ["endpoint": .string(id)])["result"] == ["revoked": 2])
    for connection in [child, grandchild] {
      let answer = await connection.next()
      #expect(answer?["error"]?["code"] == -32020 && answer?["error"]?["message"] == "The endpoint was revoked")
      #expect(await connection.next() == nil)
    }
    while stopped.withLock({ $0 }) < 2 { await Task.yield() }
    #expect(sockets.closed == [below, id] && sockets.open.isEmpty)
    #expect(await maker.call("revokeEndpoint", ["endpoint": .string(id)])["error"]?["code"] == -32602)
    #expect(bench.metrics("postern_endpoints_ended") == [#"postern_endpoints_ended_total{reason="revoked"} 2"#])
  }

  // Another user, or a child, that ends what is not its own, or learns that it exists.
  @Test("neither user sees or ends the other's endpoints, a child neither itself nor its siblings")
  func foreign() async throws {
    let (bench, sockets) = try Self.bench()
    let (one, two) = (bench.connect(uid: 7), bench.connect(uid: 8))
    let (first, second) = (await one.endpoint(), await one.endpoint())
    let child = try #require(bench.connect(to: first, sockets))
    let unknown = await two.call("revokeEndpoint", ["endpoint": "ep_unknown"])
    for (connection, id) in [(two, first), (child, first), (child, second)] {
      let answer = await connection.call("revokeEndpoint", ["endpoint": .string(id)])
      #expect(answer["error"]?["code"] == -32602 && Self.path(answer) == "/endpoint")
      #expect(answer["error"]?["message"] == unknown["error"]?["message"])
      #expect(await connection.call("listEndpoints")["result"]?["endpoints"] == [])
    }
    #expect(sockets.open == [first, second])
  }

  // A timer that is missing or late, and a task for each endpoint.
  @Test("an endpoint ends at its time, and one task waits for all of them")
  func expired() async throws {
    let (bench, sockets) = try Self.bench()
    let maker = bench.connect(uid: 7)
    let before = bench.clock.sleeperCount
    let late = await maker.endpoint(["expiresInMs": 20_000])
    let early = await maker.endpoint(["expiresInMs": 10_000])
    for _ in 0..<20 { _ = await maker.endpoint(["expiresInMs": 30_000]) }
    let child = try #require(bench.connect(to: early, sockets))
    while bench.clock.sleeperCount != before + 1 || bench.clock.remainders.first != .seconds(10) { await Task.yield() }
    bench.clock.advance(by: .seconds(10))
    #expect(await child.next() == nil)
    while sockets.closed != [early] { await Task.yield() }
    while bench.clock.remainders.first != .seconds(10) { await Task.yield() }
    bench.clock.advance(by: .seconds(10))
    while sockets.closed != [early, late] { await Task.yield() }
    #expect(bench.metrics("postern_endpoints_ended") == [#"postern_endpoints_ended_total{reason="expired"} 2"#])
    #expect(bench.metrics("postern_endpoints ") == ["postern_endpoints 20"])
  }

  // An endpoint that outlives the connection or the process that it is bound to.
  @Test("an endpoint ends with its maker's connection, or with its process")
  func bound() async throws {
    let (bench, sockets) = try Self.bench()
    let (maker, other) = (bench.connect(uid: 7), bench.connect(uid: 7))
    let bound = await maker.endpoint(["bindTo": "connection"])
    let free = await maker.endpoint()
    let process = await other.endpoint(["bindTo": ["pid": 17]])
    #expect(sockets.request(process)?.process == 17 && sockets.request(bound)?.process == nil)
    let child = try #require(bench.connect(to: bound, sockets))
    maker.close(bench)
    #expect(await child.next() == nil)
    #expect(sockets.open == [free, process])
    bench.service.endpoints.end(process, because: .process)
    #expect(sockets.open == [free])
    #expect(
      bench.metrics("postern_endpoints_ended") == [
        #"postern_endpoints_ended_total{reason="connection"} 1"#, #"postern_endpoints_ended_total{reason="process"} 1"#,
      ])
  }

  // Sockets that stay behind when the end comes while they are being made.
  @Test("an endpoint that ends while its sockets are being made leaves none")
  func endsMeanwhile() async throws {
    let (bench, sockets) = try Self.bench()
    sockets.meanwhile { [weak service = bench.service] in service?.endpoints.end($0, because: .process) }
    let answer = await bench.connect(uid: 7).call("createEndpoint", ["bindTo": ["pid": 17]])
    #expect(answer["error"]?["code"] == -32020)
    #expect(sockets.open.isEmpty && bench.service.endpoints.counts.open == 0)
  }

  // A connection to an endpoint that came while the endpoint ended, and stays.
  @Test("a connection to an endpoint that has ended is closed at once")
  func late() async throws {
    let (bench, sockets) = try Self.bench()
    let maker = bench.connect(uid: 7)
    let id = await maker.endpoint()
    let narrowing = try #require(sockets.request(id)?.narrowing)
    _ = await maker.call("revokeEndpoint", ["endpoint": .string(id)])
    #expect(await bench.connect(uid: 7, through: narrowing).next() == nil)
  }

  // A user who takes the endpoints of all, and endpoints made during the drain.
  @Test("a user at its limit is rejected as overloaded, others are not; nothing is made while draining")
  func limits() async throws {
    let (bench, sockets) = try Self.bench()
    let (one, two) = (bench.connect(uid: 7), bench.connect(uid: 8))
    for _ in 0..<EndpointTree.capacityPerUID { _ = await one.endpoint() }
    #expect(sockets.open.count == EndpointTree.capacityPerUID)
    #expect(await one.call("createEndpoint")["error"]?["code"] == -32009)
    #expect(await two.call("createEndpoint")["result"] != nil)
    var (count, cursor) = (0, JSONValue.null)
    repeat {
      let page = await one.call("listEndpoints", cursor == .null ? ["limit": 1000] : ["limit": 1000, "cursor": cursor])
      count += page["result"]?["endpoints"]?.arrayValue?.count ?? 0
      cursor = page["result"]?["nextCursor"] ?? .null
    } while cursor != .null
    #expect(count == EndpointTree.capacityPerUID)
    bench.service.endpoints.drain()
    #expect(await two.call("createEndpoint")["error"]?["code"] == -32021)
  }
}
