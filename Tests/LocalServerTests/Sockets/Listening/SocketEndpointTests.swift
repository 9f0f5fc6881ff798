import Glibc
import PosternSupport
import Testing

@testable import LocalServer

@Suite("Endpoints of a server", .timeLimit(.minutes(1)))
struct SocketEndpointTests {
  private let maker = PeerCredentials(uid: 4711, gid: 4712, pid: nil, groups: [])

  /// An endpoint with an echo server's delegate, and the connections that it has got.
  private func endpoint(
    _ echo: EchoServer, accepts: @escaping @Sendable (PeerCredentials) -> Bool = { _ in true }
  ) -> (SocketEndpoint, Locked<[Connection]>) {
    let connections = Locked<[Connection]>([])
    let endpoint = SocketEndpoint(id: "e", maker: maker, accepts: accepts) { connection in
      connections.withLock { $0.append(connection) }
      return EchoDelegate(log: echo.log)
    }
    return (endpoint, connections)
  }

  private func isThere(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }

  @Test("a connection is of the process that connects, or of the main socket")
  func ofItsMaker() async throws {
    try await EchoServer.run { echo in
      let (endpoint, connections) = endpoint(echo)
      let path = echo.path + ".e-000000000001"
      let socket = try ListeningSocket(endpointAt: path, mode: 0o600)
      try await echo.server.serve(endpoint, on: socket)
      let client = try UnixClient(path)
      try await client.send("[1]\n")
      #expect(try await client.line() == "[1]")
      #expect(connections.withLock { $0.map(\.peer) } == [maker])
      #expect(echo.connections.withLock { $0.isEmpty })
      echo.server.stopListening("e")
      #expect(!isThere(path))
      #expect(throws: UnixClient.Failure.self) { try UnixClient(path) }
      // What is open is its owner's to close.
      try await client.send("[2]\n")
      #expect(try await client.line() == "[2]")
      client.close()
    }
  }

  @Test("a process that the endpoint is not for gets a byte, or a connection")
  func otherProcesses() async throws {
    let rejected = Locked<[RejectionReason]>([])
    try await EchoServer.run {
      $0.rejection = { reason, _ in
        rejected.withLock { $0.append(reason) }
        return Array("no".utf8)
      }
    } _: { echo in
      let (endpoint, connections) = endpoint(echo) { _ in false }
      let path = echo.path + ".e-000000000001"
      try await echo.server.serve(endpoint, on: try ListeningSocket(endpointAt: path, mode: 0o600))
      let client = try UnixClient(path)
      #expect(try await client.rest().isEmpty)
      client.close()
      #expect(rejected.withLock { $0 } == [.otherProcess])
      #expect(connections.withLock { $0.isEmpty })
    }
  }

  @Test("an endpoint takes more connections than it may, or keeps its maker from the main socket")
  func limit() async throws {
    try await EchoServer.run { echo in
      let (endpoint, _) = endpoint(echo)
      let path = echo.path + ".e-000000000001"
      try await echo.server.serve(endpoint, on: try ListeningSocket(endpointAt: path, mode: 0o600))
      var clients: [UnixClient] = []
      for number in 0..<ConnectionLimits.connectionsPerEndpoint {
        let client = try UnixClient(path)
        try await client.send("[\(number)]\n")
        #expect(try await client.line() == "[\(number)]")
        clients.append(client)
      }
      let next = try UnixClient(path)
      #expect(try await next.line() == "\"rejected connectionsPerEndpoint(limit: 32)\"")
      let main = try echo.client()
      try await main.send("[1]\n")
      #expect(try await main.line() == "[1]")
      for client in clients + [next] { client.close() }
    }
  }

  @Test("a connected descriptor is another connection than the endpoint's, or outlives its end here")
  func descriptor() async throws {
    try await EchoServer.run { echo in
      let (endpoint, connections) = endpoint(echo) { _ in false }
      await #expect(throws: SocketServerError.self) { try await echo.server.connect(to: endpoint) }
      try await echo.server.serve(endpoint, on: nil)
      let descriptor = try await echo.server.connect(to: endpoint)
      let client = UnixClient(owning: dup(descriptor.number))
      try await client.send("[1]\n")
      #expect(try await client.line() == "[1]")
      #expect(connections.withLock { $0.map(\.peer) } == [maker])
      client.close()
      echo.server.stopListening("e")
      await #expect(throws: SocketServerError.self) { try await echo.server.connect(to: endpoint) }
    }
  }

  @Test("a server that has stopped listening serves an endpoint, or leaves its file")
  func stopped() async throws {
    try await EchoServer.run { echo in
      let (first, second) = (echo.path + ".e-000000000001", echo.path + ".e-000000000002")
      try await echo.server.serve(endpoint(echo).0, on: try ListeningSocket(endpointAt: first, mode: 0o600))
      await echo.server.stopListening()
      #expect(!isThere(first))
      let socket = try ListeningSocket(endpointAt: second, mode: 0o600)
      await #expect(throws: SocketServerError.self) { try await echo.server.serve(endpoint(echo).0, on: socket) }
      #expect(!isThere(second))
    }
  }

  @Test("the end of a process is not noticed, or noticed twice")
  func processEnd() async throws {
    try await EchoServer.run { echo in
      var ends: [CInt] = [-1, -1]
      #expect(pipe(&ends) == 0)
      let (reading, writing) = (ends[0], ends[1])
      defer { Glibc.close(reading) }
      // Ends when the other end of its input is closed.
      var actions = posix_spawn_file_actions_t()
      posix_spawn_file_actions_init(&actions)
      posix_spawn_file_actions_adddup2(&actions, reading, 0)
      posix_spawn_file_actions_addclose(&actions, writing)
      var process: pid_t = 0
      let argument = strdup("cat")
      #expect(posix_spawnp(&process, "cat", &actions, nil, [argument, nil], nil) == 0)
      free(argument)
      posix_spawn_file_actions_destroy(&actions)
      let watched = try #require(PeerProcess(process))
      #expect(watched.user(process) == geteuid())
      try await echo.server.serve(endpoint(echo).0, on: nil, until: watched) { echo.log.add("it has gone") }
      #expect(watched.isAlive && !echo.log.lines.contains("it has gone"))
      Glibc.close(writing)
      #expect(await echo.log.first("it has gone") == "it has gone")
      #expect(!watched.isAlive)
      waitpid(process, nil, 0)
      #expect(PeerProcess(process) == nil)
      #expect(echo.log.lines.count { $0 == "it has gone" } == 1)
    }
  }

  @Test("a start leaves sockets of endpoints on which no process listens, or removes something else")
  func leftovers() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("s")
    let stale = ["s.e-0123456789ab", "s.e-0123456789ab.http"]
    let others = [
      "s.e-0123456789a", "s.e-0123456789abc", "s.e-0123456789AB", "s.e-0123456789ab.httpx", "t.e-0123456789ab", "s.e-",
    ]
    for name in stale + others {
      let address = try UnixAddress(path: directory.file(name))
      let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
      #expect(address.withSockaddr { Glibc.bind(descriptor, $0, $1) } == 0)
      Glibc.close(descriptor)
    }
    let live = try ListeningSocket(endpointAt: directory.file("s.e-aaaaaaaaaaaa"), mode: 0o600)
    Glibc.close(open(directory.file("s.e-bbbbbbbbbbbb"), O_CREAT | O_WRONLY, 0o600))
    symlink(directory.file(others[0]), directory.file("s.e-cccccccccccc"))
    let socket = try ListeningSocket(.path(path))
    for name in stale { #expect(!isThere(directory.file(name)), "\(name)") }
    for name in others + ["s.e-aaaaaaaaaaaa", "s.e-bbbbbbbbbbbb", "s.e-cccccccccccc"] {
      #expect(isThere(directory.file(name)), "\(name)")
    }
    live.discard()
    socket.discard()
  }

  @Test("a name is not that of an endpoint's socket, or the same twice")
  func names() {
    let paths = (0..<100).map { _ in EndpointName.path(nextTo: "/run/s") }
    #expect(Set(paths).count == 100)
    #expect(EndpointName.fits(nextTo: String(repeating: "x", count: 87)))
    #expect(!EndpointName.fits(nextTo: String(repeating: "x", count: 88)))
    #expect(paths.allSatisfy { EndpointName.isOne(String($0.dropFirst(5)), of: "s") && $0.utf8.count == 21 })
  }
}
