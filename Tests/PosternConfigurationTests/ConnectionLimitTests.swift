import PosternConfiguration
import Testing

@Suite("Limits of connections")
struct ConnectionLimitTests {
  @Test(
    "the connections of one uid stay as many where those of all are fewer",
    arguments: [
      ("{}", 256), ("{ connections: 4096 }", 1024), ("{ connections: 100 }", 25), ("{ connections: 32 }", 16),
      ("{ connections: 16 }", 16), ("{ connections: 3 }", 3), ("{ connections: 100, connectionsPerUid: 90 }", 90),
    ])
  func share(limits: String, expected: Int) throws {
    #expect(try Fixture("limits: \(limits)").configuration().limits.connectionsPerUid == expected)
  }
}
