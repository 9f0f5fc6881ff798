import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@testable import PosternObservability
@testable import Sidecar

@Suite("Users whom the user namespace does not map")
struct UnmappedIDTests {
  /// In a namespace whose maps are these.
  private static func ids(_ users: String?, _ groups: String?, overflow: String? = "65534\n") -> UnmappedIDs {
    UnmappedIDs { path in
      switch path {
      case "/proc/self/uid_map": users
      case "/proc/self/gid_map": groups
      default: overflow
      }
    }
  }

  private static let whole = "         0          0 4294967295\n"
  private static let rootless = "         0       1000          1\n         1     100000      65536\n"

  @Test("where all ids are mapped, in however many lines, the overflow id is a user's; elsewhere it is no user's")
  func maps() {
    #expect(Self.ids(Self.whole, Self.whole) == .none)
    #expect(Self.ids("0 0 1\n1 1 4294967294\n", nil) == .none)
    let part = Self.ids(Self.rootless, Self.whole)
    #expect(part.uid == 65534 && part.gid == nil)
    let other = Self.ids(Self.rootless, Self.rootless, overflow: "99\n")
    #expect(other.uid == 99 && other.gid == 99)
    // What cannot be read is what it mostly is; what cannot be understood maps nothing.
    #expect(Self.ids("?", Self.rootless, overflow: nil).uid == 65534)
  }

  private static let rules = """
    peers:
      - { uid: 7, methods: [getInfo] }
      - { gid: 30, methods: ["*"] }
      - { gid: 65534, methods: ["*"] }
      - { uid: 65534, methods: ["*"] }
    """

  private static func bench(_ ids: UnmappedIDs) throws -> SidecarBench {
    try SidecarBench(rules, changing: { $0.process.unmapped = ids })
  }

  @Test(
    "all whom the namespace does not map share the sessions of the one they look like",
    arguments: [
      (UInt32(65534), UInt32(65534), [UInt32](), false), (65534, 30, [], false), (65534, 1, [30], false),
      (8, 65534, [], false), (8, 1, [65534], false), (8, 30, [65534], true), (7, 65534, [], true),
    ])
  func peers(uid: UInt32, gid: UInt32, groups: [UInt32], isLetIn: Bool) async throws {
    let mapped = try Self.bench(.none).connect(uid: uid, gid: gid, groups: groups)
    #expect(await mapped.call("getInfo")["error"] == nil)
    let bench = try Self.bench(Self.ids(Self.rootless, Self.rootless))
    let connection = bench.connect(uid: uid, gid: gid, groups: groups)
    #expect(await connection.call("getInfo")["error"]?["code"] == (isLetIn ? nil : -32020))
  }

  @Test("the log does not contain the reason, or contains it for each connection")
  func reasonIsLoggedOnce() throws {
    let bench = try Self.bench(Self.ids(Self.rootless, Self.rootless))
    func lines(_ text: String) -> [String] { bench.lines.withLock { $0.filter { $0.contains(text) } } }
    #expect(lines("matches no user").count == 2)
    for _ in 0..<50 { _ = bench.connect(uid: 65534) }
    #expect(lines("does not map its uid").count == 1)
    bench.clock.advance(by: .seconds(60))
    for _ in 0..<50 { _ = bench.connect(uid: 65534) }
    #expect(lines("does not map its uid").count == 2)
    #expect(lines("does not map its uid").last?.contains(#""notLogged":"49""#) == true)
  }
}
