import CurlTransport
import Glibc
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

/// Leftovers of a failed exchange must not affect another one. libcurl 7.88 keeps the buffer of a handle whose name did
/// not resolve over its reset, and fails to set it up again: one such name stopped all fetches until a restart.
@Suite("Handles after failures", .timeLimit(.minutes(3)))
struct HandleTests {
  enum Failure: CaseIterable {
    case resolution, connection, trust, tlsToPlain, timeout, halfAnswer, garbage, cancellation
  }

  private let tls: TLSServers

  init() throws { tls = try TLSServers.shared.get() }

  /// Servers that fail, each in a way of its own.
  private struct Broken {
    /// Nothing listens there.
    let closedPort: Int
    /// Speaks no TLS, and reports that.
    let plain: RawServer
  }

  /// One exchange that fails that way.
  private func fail(_ failure: Failure, _ transport: CurlTransport, _ server: RawServer, _ broken: Broken) async throws
  {
    let error: TransportError?
    switch failure {
    case .resolution: error = try await transport.failure("http://no-such-host.invalid/")
    case .connection: error = try await transport.failure("http://127.0.0.1:\(broken.closedPort)/")
    case .trust:
      error = try await transport.failure(
        tls.url(.other), options: .testing { $0.access.tls.caFile = tls.certificates.authority })
    case .tlsToPlain: error = try await transport.failure("https://127.0.0.1:\(broken.plain.port)/")
    case .timeout:
      error = try await transport.failure(
        server.url("/silence"), options: .testing { $0.deadline = Deadline(in: .milliseconds(30), on: SystemClock()) })
    case .halfAnswer: error = try await transport.failure(server.url("/half"))
    case .garbage: error = try await transport.failure(server.url("/garbage"))
    case .cancellation:
      let before = server.requests.count
      let task = Task { try await transport.failure("POST", server.url("/silence"), body: [1]) }
      await until { server.requests.count > before }
      task.cancel()
      error = try await task.value
    }
    #expect(error != nil)
  }

  /// Exchanges of every sort, whose handles are set up in other ways each.
  private func expectAllWorks(_ transport: CurlTransport, _ servers: [RawServer]) async throws {
    for server in servers {
      for method in ["GET", "POST", "PUT", "DELETE"] {
        let body: [UInt8]? = method == "POST" || method == "PUT" ? Array("body".utf8) : nil
        let response = try await transport.send(
          method, server.url("/\(method)"), body: body, options: .testing { $0.connectTimeout = .seconds(20) })
        #expect(response.text == "\(method) /\(method)")
      }
      let head = try await transport.send("HEAD", server.url("/"))
      #expect(head.status == 200)
    }
    for (site, authority) in [
      (TLSServers.Site.good, tls.certificates.authority), (.old, tls.certificates.authority),
      (.other, tls.certificates.otherAuthority),
    ] {
      let response = try await transport.send(
        "POST", tls.url(site), body: [1], options: .testing { $0.access.tls.caFile = authority })
      #expect(response.status == 200)
    }
  }

  private static func script(_ connection: RawConnection) {
    while let request = connection.readRequest() {
      switch request.target {
      case "/silence": return connection.waitForPeer()
      case "/half":
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        return
      case "/garbage":
        connection.send("\u{1}\u{2}\u{3} no HTTP\r\n\r\n")
        return
      default:
        let body = "\(request.method) \(request.target)"
        connection.send(request.method == "HEAD" ? ok() : ok(body))
      }
    }
  }

  @Test("after each way to fail exchanges of every other sort work", arguments: Failure.allCases)
  func afterwards(failure: Failure) async throws {
    let second = try RawServer { Self.script($0) }
    defer { second.stop() }
    let (deaf, port) = try Loopback.listen(backlog: nil)
    defer { close(deaf) }
    let plain = try RawServer {
      $0.send("HTTP/1.1 400 Bad Request\r\n\r\n")
      $0.waitForPeer()
    }
    defer { plain.stop() }
    let broken = Broken(closedPort: port, plain: plain)
    try await withServer(script: { Self.script($0) }) { server, transport in
      for round in 0..<3 {
        // Several at once: more than one handle of the pool is concerned.
        try await withThrowingTaskGroup(of: Void.self) { group in
          for _ in 0...round { group.addTask { try await fail(failure, transport, server, broken) } }
          try await group.waitForAll()
        }
        try await expectAllWorks(transport, [server, second])
      }
      #expect(transport.statistics().handlesRejected == 0)
    }
  }

  @Test("after many failures at random every sort of exchange works, and while they go on")
  func atRandom() async throws {
    let second = try RawServer { Self.script($0) }
    defer { second.stop() }
    let (deaf, port) = try Loopback.listen(backlog: nil)
    defer { close(deaf) }
    let plain = try RawServer {
      $0.send("HTTP/1.1 400 Bad Request\r\n\r\n")
      $0.waitForPeer()
    }
    defer { plain.stop() }
    let broken = Broken(closedPort: port, plain: plain)
    try await withServer(script: { Self.script($0) }) { server, transport in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for worker in 0..<12 {
          group.addTask {
            var generator = SeededGenerator(seed: UInt64(worker))
            for _ in 0..<Thoroughness.repetitions(50, usually: 10) {
              try await fail(
                Failure.allCases.randomElement(using: &generator) ?? .connection, transport, server, broken)
              if worker == 0 { try await expectAllWorks(transport, [server]) }
            }
          }
        }
        try await group.waitForAll()
      }
      try await expectAllWorks(transport, [server, second])
      #expect(transport.statistics().handlesRejected == 0)
    }
  }

  /// Requests that differ in everything a handle is set up with.
  private static let sorts: [(method: String, fields: [(String, String)], body: [UInt8]?)] = [
    ("GET", [], nil), ("HEAD", [], nil), ("POST", [], [1, 2, 3]), ("GET", [("Range", "bytes=0-1")], nil),
    ("PUT", [("Content-Type", "text/plain")], []), ("DELETE", [], nil), ("DELETE", [], [1]), ("POST", [], nil),
    ("GET", [("Accept", "text/html"), ("X-Empty", "")], nil), ("PATCH", [], [9]),
  ]

  @Test("a request over a transport that has sent requests of every other sort leaves as over a new one")
  func sequence() async throws {
    func sent(_ sorts: [Int], over transport: CurlTransport, to server: RawServer) async throws -> [[String]] {
      let before = server.requests.count
      for index in sorts {
        let sort = Self.sorts[index]
        _ = try await transport.send(sort.method, server.url("/"), fields: sort.fields, body: sort.body)
      }
      return server.requests[before...].map { [$0.line] + $0.fields + ["\($0.body)"] }
    }
    var generator = SeededGenerator(seed: 7)
    let order = (0..<6).flatMap { _ in Self.sorts.indices.shuffled(using: &generator) }
    try await withServer(script: { Self.script($0) }) { server, transport in
      var fresh: [[String]] = []
      for index in Self.sorts.indices {
        let new = try CurlTransport(configuration: .testing())
        defer { new.close() }
        fresh += try await sent([index], over: new, to: server)
      }
      let used = try await sent(order, over: transport, to: server)
      #expect(used == order.map { fresh[$0] })
      #expect(Set(fresh).count == Self.sorts.count)
    }
  }

  @Test("an option that a new handle rejects too is the transport's fault, and reported once until it is over")
  func rejectedOption() async throws {
    let reports = Locked<[String?]>([])
    let configuration = CurlTransport.Configuration.testing {
      $0.faultReport = { report in reports.withLock { $0.append(report) } }
    }
    // Longer than any string that libcurl takes.
    let path = String(repeating: "a", count: 8_100_000)
    try await withServer(configuration: configuration, script: { Self.script($0) }) { server, transport in
      for _ in 0..<2 {
        let error = try await transport.failure(tls.url(.good), options: .testing { $0.access.tls.caFile = path })
        #expect(error == TransportError(code: .internalError, outcome: .notSent, detail: ""))
        #expect(error?.detail.hasPrefix("libcurl rejects option") == true)
      }
      #expect(transport.statistics().handlesRejected == 4)
      let response = try await transport.send(server.url("/after"))
      #expect(response.text == "GET /after")
      let seen = reports.withLock { $0 }
      #expect(seen.count == 2 && seen.first.flatMap { $0 } != nil && seen.last.map { $0 == nil } == true)
    }
  }
}
