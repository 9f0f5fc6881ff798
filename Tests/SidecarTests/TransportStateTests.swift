import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@testable import PosternObservability
@testable import Sidecar

@Suite("The reported state of the transports, and which resource uses which")
struct TransportStateTests {
  private static let resources = """
    resources:
      old: { baseUrl: "https://api.test/", auth: none }
      new: { baseUrl: "https://api.test/", auth: none, http2: true }
    """

  @Test("health is degraded while no request can be set up, and metrics count what was thrown away")
  func health() async throws {
    let state = Locked(TransportState(connectionsDiscarded: 3, handlesRejected: 2, stalls: 4))
    let bench = try SidecarBench("{}", changing: { $0.transports.state = { state.withLock { $0 } } })
    let connection = bench.connect()
    for problem in [nil, "libcurl rejects option 98", nil] {
      state.withLock { $0.problem = problem }
      let health = await connection.call("health")["result"]
      #expect(health?["status"]?.stringValue == (problem == nil ? "ok" : "degraded"))
      #expect(health?["checks"]?["transport"]?["detail"]?.stringValue == problem)
    }
    let text = await connection.call("metrics")["result"]?["text"]?.stringValue ?? ""
    #expect(text.contains("\npostern_upstream_connections_discarded_total 3\n"))
    #expect(text.contains("\npostern_upstream_handles_rejected_total 2\n"))
    #expect(text.contains("\npostern_upstream_stalls_total 4\n"))
  }

  @Test("health is ok while a server keeps a resource's thread busy, or names the resource to whom its rule hides it")
  func stalls() async throws {
    let state = Locked(TransportState())
    let peers = """
      peers:
        - { uid: 7, methods: ["*"] }
        - { uid: 8, methods: ["*"], resources: [old] }

      """
    let bench = try SidecarBench(peers + Self.resources, changing: { $0.transports.state = { state.withLock { $0 } } })
    // The second is no resource any more.
    state.withLock { $0.stalled = ["new": .seconds(2), "gone": .seconds(1)] }
    let all = await bench.connect(uid: 7).call("health")["result"]
    #expect(all?["status"]?.stringValue == "degraded")
    #expect(all?["checks"]?["resource.new"]?["status"]?.stringValue == "degraded")
    #expect(all?["checks"]?["resource.new"]?["ageMs"]?.integerValue == 2000)
    #expect(all?["checks"]?["resource.gone"] == nil)
    let part = await bench.connect(uid: 8).call("health")["result"]
    #expect(part?["status"]?.stringValue == "ok" && part?["checks"]?["resource.new"] == nil)
  }

  @Test("a server that keeps a resource's thread busy for ever fills the log, or shows for ever after it has stopped")
  func stallLog() async throws {
    let bench = try SidecarBench("{}")
    let stalled = StalledResources(logger: bench.service.calls.log.logger, clock: bench.clock)
    func lines(_ resource: String) -> [String] {
      bench.lines.withLock { $0.filter { $0.contains("shut down") && $0.contains(#""resource":"\#(resource)""#) } }
    }
    for _ in 0..<100 { stalled.note("r") }
    stalled.note("other")
    #expect(lines("r").count == 10 && lines("other").count == 1)
    bench.clock.advance(by: .seconds(10))
    stalled.note("r")
    #expect(lines("r").last?.contains(#""notLogged":"90""#) == true)
    #expect(lines("r").allSatisfy { $0.contains(#""warning""#) })
    #expect(stalled.recent == ["r": .zero, "other": .seconds(10)])
    bench.clock.advance(by: .seconds(50))
    #expect(stalled.recent == ["r": .seconds(50)])
  }

  @Test("a transport that does not work is not the caller's fault")
  func internalError() async throws {
    let bench = try SidecarBench(
      Self.resources,
      script: { _, _ async throws(TransportError) in
        throw TransportError(code: .internalError, outcome: .notSent, detail: "libcurl rejects option 98")
      })
    let answer = await bench.connect().call("fetchResource", ["resource": "old", "path": "x"])
    #expect(answer["error"]?["code"]?.integerValue == -32_603)
    #expect(answer["error"]?["data"]?["reason"]?.stringValue == "internal_error")
    #expect(answer["error"]?["data"]?["outcome"]?.stringValue == "not_sent")
  }

  @Test("only a resource with HTTP/2 has a transport of its own, also after a reload that does not change it")
  func ownTransport() async throws {
    let made = Locked<[ScriptedTransport]>([])
    let bench = try SidecarBench(
      Self.resources,
      changing: {
        $0.transports.makeHTTP2 = { _, _ in
          let transport = ScriptedTransport { _, _ async throws(TransportError) in HTTPResponse(status: 204) }
          made.withLock { $0.append(transport) }
          return transport
        }
      })
    let connection = bench.connect()
    func status(_ resource: String) async -> Int64? {
      await connection.call("fetchResource", ["resource": .string(resource), "path": "x"])["result"]?["status"]?
        .integerValue
    }
    #expect(await status("old") == 200)
    #expect(await status("new") == 204)
    _ = await connection.call("reloadConfig")
    #expect(await status("new") == 204)
    #expect(made.withLock { $0.count } == 1)
    bench.write(Self.resources.replacing("http2: true", with: "http2: true, timeout: 5s"))
    _ = await connection.call("reloadConfig")
    #expect(await status("new") == 204)
    #expect(made.withLock { $0.map(\.requests.count) } == [2, 1])
    bench.write(Self.resources.replacing("http2: true", with: "http2: false"))
    _ = await connection.call("reloadConfig")
    #expect(await status("new") == 200)
  }

  @Test("a resource that comes to have HTTP/2 takes connections beyond those of the others, who keep all of theirs")
  func shares() async throws {
    let counts = Locked<[Int]>([])
    let bench = try SidecarBench(
      Self.resources,
      changing: {
        $0.transports.makeHTTP2 = { _, count in
          counts.withLock { $0.append(count) }
          return ScriptedTransport { _, _ async throws(TransportError) in HTTPResponse(status: 204) }
        }
      })
    #expect(counts.withLock { $0 } == [1])
    bench.write(Self.resources.replacing("auth: none }", with: "auth: none, http2: true }"))
    _ = await bench.connect().call("reloadConfig")
    #expect(counts.withLock { $0 } == [1, 2, 2])
  }
}
