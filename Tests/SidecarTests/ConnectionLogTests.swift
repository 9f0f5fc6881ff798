import PosternSupport
import PosternTestSupport
import Testing

@testable import PosternObservability
@testable import Sidecar

@Suite("Log messages about connections")
struct ConnectionLogTests {
  @Test("a peer fills the log with connections that break, or keeps another peer's messages out of it")
  func broken() throws {
    let bench = try SidecarBench("{}")
    func lines(of uid: UInt32) -> [String] {
      bench.lines.withLock { $0.filter { $0.contains("connection broken") && $0.contains(#""uid":"\#(uid)""#) } }
    }
    func reset(_ number: UInt64, _ uid: UInt32) {
      bench.service.connectionBroke(connection: number, of: Peer(uid: uid, gid: uid), why: "reset")
    }
    for number in 0..<UInt64(1000) { reset(number, 5) }
    reset(1000, 6)
    #expect(lines(of: 5).count == 10 && lines(of: 6).count == 1)
    bench.clock.advance(by: .seconds(10))
    reset(1001, 5)
    #expect(lines(of: 5).last?.contains(#""notLogged":"990""#) == true)
  }
}
