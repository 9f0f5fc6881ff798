import CurlTransport
import Glibc
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

/// Bytes that came before a request was sent are no response. libcurl 7.88 takes up a connection on which they
/// wait: every later answer was the one before it.
@Suite("Bytes that were not requested", .timeLimit(.minutes(3)))
struct StrayTests {
  struct Stray: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let wire: String
    var closes = false
  }

  static let strays = [
    Stray(testDescription: "a second answer", wire: ok("stray")),
    Stray(testDescription: "half an answer", wire: "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"),
    Stray(testDescription: "a status line", wire: "HTTP/1.1 200 OK\r\n"),
    Stray(testDescription: "one byte", wire: "\r"),
    Stray(testDescription: "garbage", wire: "\u{1}\u{2}garbage"),
    Stray(testDescription: "an interim response", wire: "HTTP/1.1 103 Early Hints\r\n\r\n"),
    Stray(
      testDescription: "408 and the end",
      wire: "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
      closes: true),
  ]

  @Test(
    "what waits on an idle connection answers nothing: the request goes out over another",
    arguments: strays, ["GET", "POST", "PATCH"])
  func idle(stray: Stray, method: String) async throws {
    let isAnswered = Gate()
    let isThere = Gate()
    try await withServer { connection in
      guard let first = connection.readRequest() else { return }
      connection.send(ok(first.target))
      if connection.index == 0 {
        // libcurl must not see it together with the answer, and close the connection by itself.
        isAnswered.waitOnThread()
        connection.send(stray.wire)
        connection.waitForDelivery()
        isThere.open()
        if stray.closes { return }
      }
      connection.serve { ok($0.target) }
    } _: { server, transport in
      let first = try await transport.send(server.url("/first"))
      #expect(first.text == "/first")
      isAnswered.open()
      await isThere.wait()
      let body: [UInt8]? = method == "GET" ? nil : [1, 2, 3]
      for number in 0..<3 {
        let response = try await transport.send(method, server.url("/\(number)"), body: body)
        #expect(response.text == "/\(number)")
      }
      #expect(server.requests.count == 4 && server.accepted == 2)
      #expect(transport.statistics().connectionsDiscarded == 1)
      // The other one was closed.
      await until { server.open == 1 }
      #expect(transport.statistics().connectionsOpen == 1)
    }
  }

  @Test("of the requests of four users, with strays at random, none gets another's answer")
  func atRandom() async throws {
    let delivered = Locked<Set<String>>([])
    // Decided by the request alone, so that the test knows it too.
    @Sendable func stray(_ target: String) -> String? {
      switch target.utf8.reduce(7, { ($0 &* 31 &+ Int($1)) & 0xFFFF }) % 12 {
      case 0: ok("stray after \(target)")
      case 1: ok("stray") + ok("stray")
      case 2: "HTTP/1.1 200 OK\r\nContent-Le"
      default: nil
      }
    }
    try await withServer { connection in
      while let request = connection.readRequest() {
        connection.send(ok(request.target))
        guard let stray = stray(request.target) else { continue }
        connection.send(stray)
        connection.waitForDelivery()
        _ = delivered.withLock { $0.insert(request.target) }
      }
    } _: { server, transport in
      let mixed = await withTaskGroup(of: Int.self) { group in
        for uid in UInt32(1001)...1004 {
          group.addTask {
            var mixed = 0
            for number in 0..<Thoroughness.repetitions(2500, usually: 400) {
              let target = "/\(uid)/\(number)"
              let options = TransferOptions.testing { $0.peerID = PeerID(uid: uid, connection: 1) }
              let response = try? await transport.send(
                number % 2 == 0 ? "GET" : "POST", server.url(target), body: number % 2 == 0 ? nil : [1],
                options: options)
              if response?.text != target { mixed += 1 }
              if stray(target) != nil { await until { delivered.withLock { $0.contains(target) } } }
            }
            return mixed
          }
        }
        return await group.reduce(0, +)
      }
      #expect(mixed == 0)
      #expect(server.requests.count == 4 * Thoroughness.repetitions(2500, usually: 400))
      // No connection is used after a stray. Who notices it, libcurl while it reads the response or
      // the pool before the next request, is a matter of timing.
      #expect(server.accepted >= delivered.withLock(\.count))
      #expect(transport.statistics().connectionsDiscarded > 0)
    }
  }

  @Test("connections are kept for one user each, and not more of them than the bound")
  func users() async throws {
    try await withServer(configuration: .testing { $0.maxConnections = 8 }) {
      $0.serve { ok($0.target) }
    } _: { server, transport in
      func fetch(_ uid: UInt32) async throws {
        let options = TransferOptions.testing { $0.peerID = PeerID(uid: uid, connection: 1) }
        let response = try await transport.send("POST", server.url("/\(uid)"), body: [1], options: options)
        #expect(response.text == "/\(uid)")
      }
      for _ in 0..<3 {
        for uid in [UInt32(0), 1001, 1002, UInt32.max - 1] { try await fetch(uid) }
        // The process itself is another one again.
        _ = try await transport.send(server.url())
      }
      #expect(server.accepted == 5)
      for uid in UInt32(2000)..<2050 { try await fetch(uid) }
      #expect(transport.statistics().connectionsOpen <= 8)
      await until { server.open <= 8 }
      #expect(server.accepted == 55)
    }
  }

  @Test("an exchange that takes up no connection leaves none behind either")
  func own() async throws {
    try await withServer {
      $0.serve { ok($0.target) }
    } _: { server, transport in
      _ = try await transport.send(server.url("/kept"))
      for number in 0..<3 {
        let options = TransferOptions.testing { $0.reusesConnections = false }
        let response = try await transport.send("POST", server.url("/\(number)"), body: [1], options: options)
        #expect(response.text == "/\(number)")
        await until { server.open == 1 }
      }
      #expect(server.accepted == 4)
      // And does not change what the handle does next.
      _ = try await transport.send(server.url("/kept"))
      #expect(server.accepted == 4)
    }
  }
}
