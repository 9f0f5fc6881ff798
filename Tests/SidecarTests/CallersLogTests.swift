import AuthEngine
import Logging
import PosternSupport
import PosternTestSupport
import Testing

@testable import PosternObservability
@testable import Sidecar

@Suite("Log messages that callers cause")
struct CallersLogTests {
  private func lines(_ bench: SidecarBench, _ text: String) -> [String] {
    bench.lines.withLock { $0.filter { $0.contains(text) } }
  }

  @Test("one user's failing calls fill the log, or keep others' lines and other kinds out of it")
  func kinds() throws {
    let bench = try SidecarBench("{}")
    let log = bench.service.callersLog
    func fail(_ uid: UInt32, _ text: String = "no introspection", _ issuer: String = "corp") {
      log.of(CallScope(peer: PeerID(uid: uid, connection: 0))).log(
        .warning, text, about: issuer, ["of": .stringConvertible(uid)])
    }
    for _ in 0..<1000 { fail(5) }
    fail(6)
    fail(5, "no introspection", "other")
    fail(5, "no token")
    #expect(lines(bench, "no introspection").count == 12 && lines(bench, "no token").count == 1)
    bench.clock.advance(by: .seconds(10))
    fail(5)
    #expect(lines(bench, "no introspection").last?.contains(#""notLogged":"990""#) == true)
  }

  @Test("a line that a call causes has the call's method and trace, and a line of the sidecar's own work has neither")
  func labels() throws {
    let bench = try SidecarBench("{}")
    var call = CallScope(peer: PeerID(uid: 5, connection: 0))
    call.label = CallScope.Label(method: "fetchResource", traceparent: "00-4bf9")
    bench.service.callersLog.of(call).log(.warning, "no token", [:])
    bench.service.callersLog.of(.process).log(.warning, "no key set", [:])
    let own = try #require(lines(bench, "no token").first)
    #expect(own.contains(#""method":"fetchResource""#) && own.contains(#""traceId":"4bf9""#))
    #expect(lines(bench, "no key set").first?.contains("traceId") == false)
  }

  @Test("names that appear and disappear with each reload are stored without a limit")
  func names() throws {
    let bench = try SidecarBench("{}")
    for number in 0..<5000 { bench.service.callersLog.log(.warning, "no token", about: "\(number)", [:]) }
    #expect(lines(bench, "no token").count == 1024 + 10)
  }

  @Test("a user who reloads in a loop fills the log, or changes and the operator's reloads are not logged")
  func reloads() async throws {
    let bench = try SidecarBench("{}")
    let caller = bench.connect()
    func reload() async { _ = await caller.call("reloadConfig") }
    for _ in 0..<100 { await reload() }
    #expect(lines(bench, "configuration reloaded").count == 10)
    _ = try bench.service.reload()
    #expect(lines(bench, "configuration reloaded").count == 11)
    bench.write("nonsense: 1")
    for _ in 0..<100 { await reload() }
    #expect(lines(bench, "configuration not reloaded").count == 11)
    bench.write("{}")
    await reload()
    #expect(lines(bench, "configuration reloaded").count == 12)
    bench.write("log: {level: debug}")
    await reload()
    #expect(lines(bench, "configuration reloaded").count == 13)
  }

  @Test("one user who makes and ends sessions without end fills the log")
  func ended() throws {
    let bench = try SidecarBench("{}")
    let observer = ServiceObserver(
      metrics: bench.service.calls.log.metrics, health: bench.service.health.monitor, changes: HealthSignal(),
      hub: bench.service.hub,
      logger: bench.service.calls.log.logger, log: bench.service.callersLog)
    func end(_ uid: UInt32) {
      observer.observe(
        .ended(SessionHandle.random(), issuer: "corp", uid: uid), in: CallScope(peer: PeerID(uid: uid, connection: 0)))
    }
    for _ in 0..<1000 { end(5) }
    end(6)
    #expect(lines(bench, "session ended").count == 11)
  }
}
