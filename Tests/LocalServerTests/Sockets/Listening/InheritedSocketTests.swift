import Glibc
import Testing

@testable import LocalServer

@Suite("Socket activation", .timeLimit(.minutes(1)))
struct InheritedSocketTests {
  private func take(_ environment: [String: String], first: CInt) throws(SocketServerError) -> InheritedSocket.Passed {
    try InheritedSocket.take(environment: environment, process: 4711, first: first)
  }

  @Test(
    "no variables, or another process's, mean no socket",
    arguments: [
      [:], ["LISTEN_PID": "4711"], ["LISTEN_FDS": "1"], ["LISTEN_PID": "4712", "LISTEN_FDS": "1"],
      ["LISTEN_PID": "4711", "LISTEN_FDS": "0"],
    ])
  func none(environment: [String: String]) throws {
    #expect(try take(environment, first: -1) == .init())
  }

  @Test(
    "malformed variables are an error, not a guess",
    arguments: [
      ("x", "1"), ("", "1"), ("4711", "x"), ("4711", ""), ("4711", "-1"), ("4711", "99999999999999999999"),
      ("4711", "2000000000"),
      ("99999999999999999999", "1"), ("4711 ", "1"),
    ])
  func malformed(process: String, count: String) {
    #expect(throws: SocketServerError.self) { try take(["LISTEN_PID": process, "LISTEN_FDS": count], first: -1) }
  }

  @Test(
    "a descriptor other than a listening Unix stream socket is rejected",
    arguments: ["closed", "file", "datagram", "tcp", "notListening"])
  func rejects(kind: String) throws {
    let descriptor: CInt
    switch kind {
    case "closed": descriptor = 1_000_000
    case "file": descriptor = open("/dev/null", O_RDONLY)
    case "datagram": descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue), 0)
    case "tcp": descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    default: descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
    }
    defer { close(descriptor) }
    #expect(throws: SocketServerError.self) { try take(["LISTEN_PID": "4711", "LISTEN_FDS": "1"], first: descriptor) }
  }

  @Test("a server on a passed socket, one that waits, serves it, marks it close-on-exec and leaves the file alone")
  func serves() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("s")
    let made = try ListeningSocket(.path(path, mode: 0o666))
    #expect(fcntl(made.descriptor, F_SETFD, 0) == 0)
    #expect(fcntl(made.descriptor, F_SETFL, fcntl(made.descriptor, F_GETFL) & ~O_NONBLOCK) == 0)
    let passed = try take(["LISTEN_PID": "4711", "LISTEN_FDS": "1"], first: made.descriptor)
    let inherited = try #require(passed.rpc)
    #expect(passed.gateway == nil)
    #expect(inherited.path == path)
    #expect(fcntl(made.descriptor, F_GETFD) & FD_CLOEXEC != 0)
    let server = try await SocketServer.start(.init(endpoint: .inherited(inherited))) { _ in
      EchoDelegate(log: EventLog())
    }
    #expect(server.path == path)
    let client = try UnixClient(path)
    try await client.send("[1]")
    #expect(try await client.line() == "[1]")
    await server.shutdown()
    var status = stat()
    #expect(lstat(path, &status) == 0)
  }

  /// Descriptors that follow one another, on listening sockets.
  private static func row(_ count: CInt, from first: CInt, in directory: borrowing TemporaryDirectory) throws {
    for index in 0..<count {
      let made = try ListeningSocket(.path(directory.file("s\(index)"), mode: 0o600))
      #expect(dup2(made.descriptor, first + index) == first + index)
      close(made.descriptor)
    }
  }

  private static let named: [(names: String?, rpc: CInt?, gateway: CInt?)] = [
    ("rpc:gateway", 0, 1), ("gateway:rpc", 1, 0), ("postern:gateway", 0, 1), ("gateway:postern", 1, 0),
    ("a:b", 0, nil), ("a:rpc", 1, nil), ("gateway:gateway", nil, 0), (nil, 0, nil), ("gateway", 0, nil),
  ]

  // Not by arguments: the descriptors have fixed numbers.
  @Test("the names decide which socket is for what, in whatever order they come")
  func names() throws {
    let directory = try TemporaryDirectory()
    let first: CInt = 900
    try Self.row(2, from: first, in: directory)
    defer { for index in 0..<2 as Range<CInt> { close(first + index) } }
    for (names, rpc, gateway) in Self.named {
      var environment = ["LISTEN_PID": "4711", "LISTEN_FDS": "2"]
      environment["LISTEN_FDNAMES"] = names
      let passed = try take(environment, first: first)
      #expect(passed.rpc?.descriptor == rpc.map { first + $0 }, "\(names ?? "no names")")
      #expect(passed.gateway?.descriptor == gateway.map { first + $0 }, "\(names ?? "no names")")
      #expect(passed.gateway.map { $0.path == directory.file("s\(gateway ?? 0)") } != false)
    }
  }

  @Test("the variables are gone afterwards, so that no child takes them for its own")
  func unsets() throws {
    setenv("LISTEN_PID", "1", 1)
    setenv("LISTEN_FDS", "1", 1)
    setenv("LISTEN_FDNAMES", "x", 1)
    #expect(try InheritedSocket.takeFromEnvironment() == .init())
    for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] { #expect(getenv(name) == nil) }
  }
}
