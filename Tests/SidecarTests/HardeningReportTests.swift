import PosternJSON
import PosternObservability
import PosternSupport
import PosternTestSupport
import Sidecar
import Testing

@Suite("What getInfo and health say of the process's protections")
struct HardeningReportTests {
  @Test("a required protection that is not in force leaves health ok, or a disabled one makes it degraded")
  func health() async throws {
    let report = Locked(HardeningReport())
    let bench = try SidecarBench("{}", hardening: { report.withLock { $0 } })
    let connection = bench.connect()
    let cases: [(missing: [String], faults: [String], status: String, detail: String?)] = [
      ([], [], "ok", nil), (["a is off", "b is not offered"], [], "ok", "a is off; b is not offered"),
      (["a is off", "b failed"], ["b failed"], "degraded", "b failed"),
    ]
    for (missing, faults, status, detail) in cases {
      report.withLock {
        $0.missing = missing
        $0.faults = faults
      }
      bench.clock.advance(by: .seconds(1))
      let health = await connection.call("health")["result"]
      #expect(health?["checks"]?["hardening"]?["status"]?.stringValue == status)
      #expect(health?["checks"]?["hardening"]?["detail"]?.stringValue == detail)
      #expect(health?["status"]?.stringValue == status)
      let returned = await connection.call("getInfo")["result"]?["hardening"]?["missing"]?.arrayValue
      #expect(returned?.compactMap(\.stringValue) == missing)
    }
  }

  @Test("every getInfo looks at the process, or none does after the first")
  func looks() async throws {
    let looks = Locked(0)
    let bench = try SidecarBench(
      "{}",
      hardening: {
        looks.withLock { $0 += 1 }
        var report = HardeningReport()
        report.lockedBytes = looks.withLock { $0 }
        return report
      })
    let connection = bench.connect()
    for expected in [1, 1, 2, 2] {
      if expected == 2, looks.withLock({ $0 }) == 1 { bench.clock.advance(by: .seconds(1)) }
      let returned = await connection.call("getInfo")["result"]?["hardening"]?["lockedMemory"]?["lockedBytes"]
      #expect(returned?.integerValue == Int64(expected))
    }
  }

  @Test("a process whose protection is unknown is reported as protected")
  func unknown() async throws {
    let connection = try SidecarBench("{}").connect()
    let hardening = await connection.call("getInfo")["result"]?["hardening"]
    #expect(hardening?["seccomp"] == .bool(false) && hardening?["dumpable"] == .bool(true))
    #expect(await connection.call("health")["result"]?["checks"]?["hardening"] == nil)
  }
}
