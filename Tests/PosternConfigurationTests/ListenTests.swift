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

  // Catches an address that every program of the machine can use, and a listener that a reload cannot change.
  @Test(
    "The gateway listens where it is safe, or not at all",
    arguments: [
      ("{ path: /run/http.sock, mode: \"0660\" }", nil),
      ("{ address: \"127.0.0.1:7080\", key: 0123456789abcdef }", nil),
      ("{ path: /run/http.sock, address: \"[::1]:7080\", key: 0123456789abcdef }", nil),
      ("{ address: \"localhost:7080\", key: 0123456789abcdef }", nil),
      ("{ mode: \"0660\" }", "needs path, address, or both"), ("{ address: \"127.0.0.1:7080\" }", "needs keyFile"),
      ("{ address: \"192.0.2.1:7080\", key: 0123456789abcdef }", "must be a loopback address"),
      ("{ address: \"127.0.0.1:7080\", key: 0123456789abcde }", "fewer than 16 characters"),
      ("{ path: /run/http.sock, key: 0123456789abcdef }", "goes with address only"),
      ("{ address: \"127.0.0.1\", key: 0123456789abcdef }", "must be host:port"),
      ("{ address: \"127.0.0.1:7080\", keyFile: /none }", "there is no such file"),
      ("{ address: \"127.0.0.1:7080\", key: }", "gateway.listen.key"), ("{ path: }", "gateway.listen.path"),
    ] as [(String, String?)])
  func gateway(text: String, problem: String?) throws {
    let fixture = Fixture("gateway: { listen: \(text) }")
    if let problem {
      #expect(fixture.problems.count == 1 && fixture.problems[0].contains(problem), "\(fixture.problems)")
    } else {
      let configuration = try fixture.configuration()
      #expect(configuration.gateway.listen?.mode == (text.contains("mode") ? 0o660 : 0o600))
      #expect(configuration.keysThatTakeARestart(from: PosternConfiguration()) == ["gateway"])
      #expect(PosternConfiguration().keysThatTakeARestart(from: configuration) == ["gateway"])
    }
  }

  // Catches two listeners that replace each other's socket.
  @Test("The gateway's socket is not the one of callers")
  func sameSocket() {
    let problems = Fixture("{ listen: { path: /run/a.sock }, gateway: { listen: { path: /run/a.sock } } }").problems
    #expect(problems.count == 1 && problems[0].contains("gateway.listen.path"), "\(problems)")
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
