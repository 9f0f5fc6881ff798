import HTTPMessages
import JSON
import Sidecar
import Support
import TestSupport
import Testing

@Suite("What is said of the transports, and who carries what")
struct TransportStateTests {
  private static let resources = """
    resources:
      old: { baseUrl: "https://api.test/", auth: none }
      new: { baseUrl: "https://api.test/", auth: none, http2: true }
    """

  @Test("health is degraded while no request can be set up, and metrics count what was thrown away")
  func health() async throws {
    let state = Locked(TransportState(connectionsDiscarded: 3, handlesRejected: 2))
    let bench = try SidecarBench("{}", changing: { $0.transportState = { state.withLock { $0 } } })
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

  @Test("only a resource that asks for HTTP/2 has a transport of its own, also after a reload that leaves it alone")
  func ownTransport() async throws {
    let made = Locked<[ScriptedTransport]>([])
    let bench = try SidecarBench(
      Self.resources,
      changing: {
        $0.http2Transport = { _ in
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
        $0.http2Transport = { count in
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
