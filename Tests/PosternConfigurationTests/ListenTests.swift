import PosternConfiguration
import Testing

@Suite("Where callers connect")
struct ListenTests {
  @Test(
    "The directory's mode has a digit more than the socket's, and its owner must be able to enter",
    arguments: [
      ("\"2770\"", 0o2770, nil), ("\"0770\"", 0o770, nil), ("0o2770", 0o2770, nil), ("\"02770\"", 0o2770, nil),
      ("2770", nil, "write the mode in octal with a leading zero"), ("\"2660\"", nil, "read, write and enter"),
      ("\"27770\"", nil, "three or four octal digits"), ("\"2778\"", nil, "three or four octal digits"),
    ] as [(String, UInt32?, String?)])
  func directoryMode(text: String, mode: UInt32?, problem: String?) throws {
    let fixture = Fixture("listen: { directoryMode: \(text) }")
    if let problem {
      #expect(fixture.problems.count == 1 && fixture.problems[0].contains(problem), "\(fixture.problems)")
    } else {
      #expect(try fixture.configuration().listen.directoryMode == mode)
    }
  }

  @Test("Left out, the directory is left alone and calls have 30 s to end; a group by its name is a number for rules")
  func defaults() throws {
    let configuration = try Fixture("peers: [{ group: app, methods: [getInfo] }]").configuration()
    #expect(configuration.listen.directoryMode == nil && configuration.listen.drain == .seconds(30))
    #expect(configuration.peers?.map(\.gid) == [3000])
  }

  @Test("Only a store that stays where it is takes its keys without a restart")
  func restarts() throws {
    func store(_ text: String) throws -> PosternConfiguration { try Fixture("store: { \(text) }").configuration() }
    let one = try store("kind: file, path: /a, key: x")
    #expect(try store("kind: file, path: /a, key: y").keysThatTakeARestart(from: one) == [])
    #expect(try store("kind: file, path: /b, key: x").keysThatTakeARestart(from: one) == ["store"])
    #expect(try store("kind: memory").keysThatTakeARestart(from: one) == ["store"])
  }
}
