import Foundation
import Glibc
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

@testable import LocalServer

@Suite("The gateway's server", .timeLimit(.minutes(2)))
struct GatewayServerTests {
  private static let get = "GET /a HTTP/1.1\r\nHost: postern\r\n\r\n"

  // Catches a valid request that is rejected, a body with its framing in it, and mixed-up responses.
  @Test("Every valid request of the table is answered, pipelined ones in their order, also byte by byte")
  func table() async throws {
    let fixture = try await Fixture()
    for request in try #require(RequestTable.shared).valid {
      for isSplit in [false, true] where !isSplit || request.bytes.count < 1000 {
        let client = try fixture.connect()
        if isSplit { for byte in request.bytes { client.send([byte]) } } else { client.send(request.bytes) }
        shutdown(client.descriptor, Int32(SHUT_WR))
        let text = client.receive()
        let responses = text.components(separatedBy: "HTTP/1.1 200 OK").count - 1
        #expect(responses == request.bodies.count, "\(request.name): \(text)")
        for body in request.bodies where !body.isEmpty {
          #expect(text.contains(String(decoding: body, as: UTF8.self)), "\(request.name): \(text)")
        }
      }
    }
    await fixture.server.shutdown()
  }

  // Catches requests that are hidden behind a malformed one, and rejections that get lost with unread bytes.
  @Test("A malformed request gets its status, and what follows is not read")
  func malformed() async throws {
    let seen = Locked(0)
    let fixture = try await Fixture(
      Responder { request, response async throws(GatewayClientGone) in
        seen.withLock { $0 += 1 }
        while case .bytes = await request.body.next() {}
        try await response.begin(status: 422, fields: [:], length: 0)
        try await response.end()
      })
    for request in try #require(RequestTable.shared).malformed where !request.name.hasPrefix("chunks") {
      let client = try fixture.connect()
      client.send(request.bytes + Array("\r\n\r\n\(Self.get)".utf8))
      let text = client.receive()
      #expect(text.hasPrefix("HTTP/1.1 \(request.status) "), "\(request.name): \(text)")
      #expect(!text.contains("HTTP/1.1 422"), "\(request.name)")
    }
    #expect(seen.withLock { $0 } == 0)
    for request in try #require(RequestTable.shared).malformed where request.name.hasPrefix("chunks") {
      let client = try fixture.connect()
      client.send(request.bytes + Array("\r\n\r\n\(Self.get)".utf8))
      let text = client.receive()
      #expect(text.hasPrefix("HTTP/1.1 422 ") && text.contains("Connection: close"), "\(request.name): \(text)")
      #expect(text.components(separatedBy: "HTTP/1.1 422").count == 2, "\(request.name)")
    }
    await fixture.server.shutdown()
  }

  // Catches a body that is read before it is wanted, 100 Continue that is sent too early, and a connection that goes on
  // although a body was left.
  @Test("100 Continue is sent when the body is wanted, and a body that is not wanted ends the connection")
  func expectations() async throws {
    let fixture = try await Fixture(
      Responder { request, response async throws(GatewayClientGone) in
        if request.path == "/no" {
          try await response.begin(status: 403, fields: [:], length: 0)
          return try await response.end()
        }
        try await Responder.echo.body(request, response)
      })
    func head(_ path: String) -> String {
      "POST \(path) HTTP/1.1\r\nHost: postern\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"
    }
    let client = try fixture.connect()
    client.send(head("/yes"))
    #expect(client.receive(until: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
    client.send("hello")
    #expect(client.receive(until: "hello").hasPrefix("HTTP/1.1 200 OK\r\n"))
    client.send(head("/no"))
    let text = client.receive()
    #expect(text.hasPrefix("HTTP/1.1 403 Forbidden\r\n") && text.contains("Connection: close"))
    await fixture.server.shutdown()
  }

  // Catches a server that reads a body of any size into memory, or one that closes where a few bytes are left.
  @Test("A small rest of a body is dropped, a large one ends the connection, and neither is read as a request")
  func unreadBodies() async throws {
    let fixture = try await Fixture(
      Responder { _, response async throws(GatewayClientGone) in
        try await response.begin(status: 200, fields: [:], length: 0)
        try await response.end()
      })
    let small = try fixture.connect()
    let post = "POST /a HTTP/1.1\r\nHost: postern\r\nContent-Length: "
    small.send("\(post)\(Self.get.utf8.count)\r\n\r\n\(Self.get)\(Self.get)")
    shutdown(small.descriptor, Int32(SHUT_WR))
    #expect(small.receive().components(separatedBy: "200 OK").count == 3)
    let large = try fixture.connect()
    large.send("\(post)10000000\r\n\r\n")
    large.send([UInt8](repeating: 0x41, count: 200_000))
    #expect(large.receive().components(separatedBy: "200 OK").count == 2)
    await fixture.server.shutdown()
  }

  // Catches answers without a task that overtake each other, run into each other's connection, or are not counted.
  @Test("Requests that are answered without a task are answered in their order, and one in a task among them")
  func withoutTasks() async throws {
    let responder = TasklessResponder()
    let fixture = try await Fixture(responder)
    let paths = (0..<300).map { $0 % 50 == 7 ? "/task" : "/\($0)" }
    let client = try fixture.connect()
    client.send(paths.map { "GET \($0) HTTP/1.1\r\nHost: postern\r\n\r\n" }.joined())
    shutdown(client.descriptor, Int32(SHUT_WR))
    let bodies = client.receive().components(separatedBy: "\r\n\r\n").dropFirst().map {
      $0.components(separatedBy: "HTTP/1.1")[0]
    }
    #expect(bodies == paths.map { $0 == "/task" ? "in a task" : $0 })
    #expect(responder.counts.withLock { $0.ended } == paths.filter { $0 != "/task" }.count)
    #expect(await eventually { responder.counts.withLock { $0.kept } == 0 }, "what has ended is still in memory")
    #expect(fixture.server.responderCount == 0)
    await fixture.server.shutdown()
  }

  // Catches a fetch that goes on for a client that has gone.
  @Test("A client that goes has its answer without a task cancelled")
  func goneWithoutTask() async throws {
    let responder = TasklessResponder()
    let fixture = try await Fixture(responder)
    do {
      let client = try fixture.connect()
      client.send("GET /later HTTP/1.1\r\nHost: postern\r\n\r\n")
      #expect(await eventually { fixture.server.responderCount == 1 })
    }
    #expect(await eventually { responder.counts.withLock { $0 } == (1, 1, 0) && fixture.server.responderCount == 0 })
    await fixture.server.shutdown()
  }

  // Catches work that goes on for clients that have gone, whether they are sending, waiting, or not reading.
  @Test("A client that goes has its task cancelled", arguments: ["waiting", "sending", "reading"])
  func gone(what: String) async throws {
    let (began, ended) = (Gate(), Locked(false))
    let fixture = try await Fixture(
      Responder { request, response async throws(GatewayClientGone) in
        began.open()
        defer { ended.withLock { $0 = true } }
        switch what {
        case "waiting": try? await Task.sleep(for: .seconds(600))
        case "sending": while case .bytes = await request.body.next() {}
        default:
          try await response.begin(status: 200, fields: [:], length: nil)
          while true { try await response.write([UInt8](repeating: 0x41, count: 60_000)) }
        }
      })
    var client: Client? = try fixture.connect()
    client?.send(what == "sending" ? "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n" : Self.get)
    await began.pass()
    withExtendedLifetime(client) {}
    client = nil
    #expect(await eventually { ended.withLock { $0 } })
    await fixture.server.shutdown()
  }

  // Catches half a response that looks like a whole one.
  @Test("A response that its responder does not end breaks the connection off")
  func brokenResponse() async throws {
    let fixture = try await Fixture(
      Responder { _, response async throws(GatewayClientGone) in
        try await response.begin(status: 200, fields: [:], length: nil)
        try await response.write(Array("half".utf8))
      })
    let client = try fixture.connect()
    client.send(Self.get)
    let text = client.receive()
    #expect(text.isEmpty || text.contains("half") && !text.contains("\r\n0\r\n"))
    await fixture.server.shutdown()
  }

  // Catches clients that keep connections busy for ever with single bytes, or by not reading.
  @Test("A header section, a body and a reader that do not come on in time end")
  func timeouts() async throws {
    // One limit at a time: the others must not end a client that this machine delays.
    func serving(
      _ limit: WritableKeyPath<GatewayServer.Timeouts, Duration>, _ body: (Fixture) throws -> Void
    ) async throws {
      let fixture = try await Fixture { $0.timeouts[keyPath: limit] = .milliseconds(200) }
      try body(fixture)
      await fixture.server.shutdown()
    }
    try await serving(\.head) { fixture in
      let head = try fixture.connect()
      head.send("GET /a HTTP/1.1\r\nHo")
      #expect(head.receive().hasPrefix("HTTP/1.1 408 Request Timeout\r\n"))
      let silent = try fixture.connect()
      #expect(silent.receive().isEmpty)
    }
    try await serving(\.stall) { fixture in
      let body = try fixture.connect()
      body.send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhe")
      #expect(body.receive().contains("Connection: close"))
    }
    try await serving(\.idle) { fixture in
      let idle = try fixture.connect()
      idle.send(Self.get)
      #expect(idle.receive().hasPrefix("HTTP/1.1 200 OK\r\n"))
    }
  }

  // Catches a drain that cuts off a response, or waits for clients that have no request.
  @Test("A drain closes idle connections, and others behind their response")
  func drain() async throws {
    let (began, gate) = (Gate(), Gate())
    let fixture = try await Fixture(
      Responder { request, response async throws(GatewayClientGone) in
        if request.path == "/slow" {
          began.open()
          await gate.pass()
        }
        try await Responder.echo.body(request, response)
      })
    let (idle, busy) = (try fixture.connect(), try fixture.connect())
    idle.send(Self.get)
    _ = idle.receive(until: "GET /a ")
    busy.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
    await began.pass()
    await fixture.server.drain()
    #expect(idle.receive().isEmpty)
    #expect(throws: (any Error).self) { try fixture.connect() }
    gate.open()
    let text = busy.receive()
    #expect(text.contains("Connection: close") && text.hasSuffix("GET /slow "))
    withExtendedLifetime(idle) {}
    #expect(await eventually { fixture.server.connectionCount == 0 })
    await fixture.server.shutdown()
  }

  // Catches one user whose connections exclude all others.
  @Test("Connections over a limit are rejected with a problem")
  func limits() async throws {
    let fixture = try await Fixture { $0.connectionsPerUid = 2 }
    let clients = try (0..<2).map { _ in try fixture.connect() }
    for client in clients { client.send(Self.get) }
    for client in clients { #expect(client.receive(until: "GET /a ").hasPrefix("HTTP/1.1 200 OK")) }
    let third = try fixture.connect()
    #expect(third.receive().hasPrefix("HTTP/1.1 503 Service Unavailable\r\n"))
    await fixture.server.shutdown()
  }

  // Catches web pages and other programs of the machine that use the address, and the key in a forwarded request.
  @Test("On the loopback address the key is needed, and web pages are rejected")
  func loopback() async throws {
    let fixture = try await Fixture(
      Responder { request, response async throws(GatewayClientGone) in
        #expect(request.caller == .loopback)
        let body = Array(request.fields.lines.map(\.name).joined(separator: ",").utf8)
        try await response.begin(status: 200, fields: [:], length: Int64(body.count))
        try await response.write(body)
        try await response.end()
      }, address: "127.0.0.1:0"
    ) {
      $0.key = { Secret("0123456789abcdef") }
      $0.credentialField = { ["/a": "X-Vault-Token"][$0] }
    }
    let port = try #require(fixture.server.port)
    let host = "Host: 127.0.0.1:\(port)\r\n"
    let cases = [
      ("\(host)Authorization: token 0123456789abcdef\r\n", 200), ("\(host)api-key: 0123456789abcdef\r\n", 200),
      ("\(host)X-Goog-Api-Key: 0123456789abcdef\r\n", 200), ("\(host)X-Vault-Token: 0123456789abcdef\r\n", 200),
      ("\(host)X-Vault-Token: Key 0123456789abcdef\r\napi-key: 0123456789abcdef\r\n", 200),
      ("\(host)X-Vault-Token: Key x0123456789abcdef\r\n", 401), ("\(host)X-Other-Token: 0123456789abcdef\r\n", 401),
      ("\(host)X-Vault-Token: 0123456789abcdef\r\nX-Vault-Token: 0123456789abcdef\r\n", 401),
      ("\(host)Postern-Key: no\r\nX-Vault-Token: 0123456789abcdef\r\n", 401),
      ("Host: \r\nPostern-Key: 0123456789abcdef\r\n", 421),
      ("\(host)Postern-Key: 0123456789abcdef\r\nX: a\r\n", 200),
      ("\(host)Authorization: Bearer 0123456789abcdef\r\n", 200),
      (
        "\(host)Authorization: AWS4-HMAC-SHA256 Credential=0123456789abcdef/20261127/eu-west-1/s3/aws4_request, "
          + "SignedHeaders=host, Signature=00\r\n", 200
      ),
      ("\(host)Authorization: AWS4-HMAC-SHA256 Signature=00, Credential=0123456789abcdef/20261127\r\n", 401),
      ("\(host)Authorization: Basic dTowMTIzNDU2Nzg5YWJjZGVm\r\n", 200),
      ("\(host)X-Api-Key: 0123456789abcdef\r\n", 200),
      ("Host: localhost\r\nPostern-Key: 0123456789abcdef\r\n", 200), (host, 401),
      ("\(host)Postern-Key: 0123456789abcdeg\r\n", 401), ("\(host)Postern-Key: \r\n", 401),
      ("\(host)Postern-Key: 0123456789abcdef\r\nPostern-Key: 0123456789abcdef\r\n", 401),
      ("\(host)Postern-Key: no\r\nAuthorization: Bearer 0123456789abcdef\r\n", 401),
      ("Host: evil.example\r\nPostern-Key: 0123456789abcdef\r\n", 421),
      ("Host: 127.0.0.1.evil.example\r\nPostern-Key: 0123456789abcdef\r\n", 421),
      ("\(host)Postern-Key: 0123456789abcdef\r\nOrigin: http://127.0.0.1\r\n", 403),
      ("\(host)Postern-Key: 0123456789abcdef\r\nSec-Fetch-Site: cross-site\r\n", 403),
    ]
    for (fields, status) in cases {
      let client = try Client(port: port)
      client.send("GET /a HTTP/1.1\r\n\(fields)Connection: close\r\n\r\n")
      let text = client.receive()
      #expect(text.hasPrefix("HTTP/1.1 \(status) "), "\(fields): \(text)")
      if status == 200 { #expect(text.hasSuffix(fields.contains("X: a") ? "\r\n\r\nX" : "\r\n\r\n"), "\(text)") }
    }
    await fixture.server.shutdown()
  }
}
