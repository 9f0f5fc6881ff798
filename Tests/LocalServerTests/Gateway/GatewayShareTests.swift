import Foundation
import Glibc
import HTTPMessages
import PosternRuntime
import PosternSupport
import PosternTestSupport
import Testing

@testable import LocalServer

/// What two uids have of one server: two endpoints, each of another maker.
@Suite("Shares of the gateway", .timeLimit(.minutes(2)))
struct GatewayShareTests {
  private static let get = "GET /a HTTP/1.1\r\nHost: postern\r\n\r\n"
  private static let key = "0123456789abcdef"

  private static func request(_ port: Int, _ fields: String = "") -> String {
    "GET /a HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\(fields)\r\n"
  }

  /// The names of what waits in memory for a uid.
  enum Waiting: String, CaseIterable, Sendable {
    case heads, bodies, responses
  }

  // Catches one uid whose unread heads, queued bodies, or responses that it does not take use up the memory of another,
  // and one whose requests do not go on because it has its share.
  @Test("Bytes of one uid are bounded, and another's are not affected", arguments: Waiting.allCases)
  func memory(_ what: Waiting) async throws {
    let (share, count) = (256 << 10, 24)
    let gate = Gate()
    let responder = Responder { request, response async throws(GatewayClientGone) in
      if request.path == "/upload" {
        // What is wanted is read ahead.
        _ = await request.body.next()
        await gate.pass()
        return try await Responder.echo.body(request, response)
      }
      try await response.begin(status: 200, fields: [:], length: 1 << 20)
      for _ in 0..<64 { try await response.write([UInt8](repeating: 0x41, count: 16 << 10)) }
      try await response.end()
    }
    let fixture = try await Fixture { $0.heldBytesPerUid = share }
    let (first, second) = (
      try await fixture.listen("one", responder, of: 1), try await fixture.listen("two", responder, of: 2)
    )
    let clients = try (0..<count).map { _ in try Client(path: first) }
    let upload = "POST /upload HTTP/1.1\r\nHost: postern\r\nContent-Length: 65536\r\n\r\n"
    for client in clients {
      switch what {
      case .heads: client.send("GET /a HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "a", count: 15 << 10))
      case .bodies: client.send(upload + String(repeating: "a", count: 65_536))
      case .responses: client.send(Self.get)
      }
    }
    let held: @Sendable () -> Int = { fixture.server.held.withLock { $0.amount(of: 1) } }
    #expect(await eventually { held() > share / 2 })
    // In addition to the share each connection may have a head, or a piece: half of what it has otherwise.
    let most = share + count * 36 << 10
    for _ in 0..<200 {
      #expect(held() <= most)
      await Task.yield()
    }
    // Another uid has its own: as much as without the first.
    let other = try Client(path: second)
    other.send(Self.get)
    #expect(other.receive(until: String(repeating: "A", count: 10)).hasPrefix("HTTP/1.1 200 OK\r\n"))
    gate.open()
    if what == .bodies {
      for client in clients { #expect(client.receive(until: "aaaa").hasPrefix("HTTP/1.1 200 OK\r\n")) }
    }
    if what == .responses {
      for client in clients {
        var (received, piece) = (0, [UInt8](repeating: 0, count: 65_536))
        while received < 1 << 20 {
          let size = recv(client.descriptor, &piece, piece.count, 0)
          guard size > 0 else { break }
          received += size
        }
        #expect(received >= 1 << 20)
      }
    }
    await fixture.server.shutdown()
    #expect(held() == 0 && fixture.server.held.withLock { $0.uidCount } == 0)
  }

  // Catches one uid that has all connections, in a listener that has few; and its endpoints, of which one leaves nothing
  // to the others.
  @Test("One uid's connections leave some to another, and one endpoint's to its siblings")
  func connections() async throws {
    let total = 54
    let fixture = try await Fixture {
      $0.connections = total
      $0.connectionsPerUid = FairShare.scaled(256, of: 1024, to: total)
    }
    let paths = [
      try await fixture.listen("one", .echo, of: 1), try await fixture.listen("two", .echo, of: 1),
      try await fixture.listen("three", .echo, of: 2),
    ]
    var kept: [Client] = []
    let served = try paths.map { path in
      try (0..<20).filter { _ in
        let client = try Client(path: path)
        client.send(Self.get)
        kept.append(client)
        return client.receive(until: "GET /a ").hasPrefix("HTTP/1.1 200 OK\r\n")
      }.count
    }
    #expect(served == [6, 6, 6])
    withExtendedLifetime(kept) {}
    await fixture.server.shutdown()
  }

  // Catches silent connections that lock the address for programs with the key, ones without a key that displace them,
  // and places that are lost.
  @Test("On the address connections that have shown no key give way to newer ones, and those with it never do")
  func keyless() async throws {
    let fixture = try await Fixture(address: "127.0.0.1:0") {
      $0.key = { Secret(Self.key) }
      $0.connectionsPerUid = 8
    }
    let port = try #require(fixture.server.port)
    let keyed: @Sendable (Client) -> Bool = { client in
      client.send(Self.request(port, "Postern-Key: \(Self.key)\r\n"))
      return client.receive(until: "GET /a ").hasPrefix("HTTP/1.1 200 OK\r\n")
    }
    let first = try (0..<4).map { _ in try Client(port: port) }
    for client in first { #expect(keyed(client)) }
    // Some are silent, some have begun a request.
    let silent = try (0..<300).map { number in
      let client = try Client(port: port)
      if number % 2 == 0 { client.send("GET /a HTTP/1.1\r\n") }
      return client
    }
    for client in first { #expect(keyed(client), "displaced") }
    // While as many as may be are on their way out a new one is rejected.
    let more = Locked<[Client]>([])
    for _ in 0..<4 {
      #expect(
        await eventually {
          guard let client = try? Client(port: port), keyed(client) else { return false }
          more.withLock { $0.append(client) }
          return true
        })
    }
    // So many at once that some are rejected: more may not be on their way out.
    for client in silent.prefix(290) {
      let text = client.receive()
      #expect(text.isEmpty || text.hasPrefix("HTTP/1.1 503 "), "\(text)")
    }
    // All places have shown the key: nobody gives way.
    #expect(await eventually { fixture.server.connectionCount == 8 })
    let rejected = try Client(port: port)
    rejected.send(Self.request(port))
    #expect(rejected.receive().hasPrefix("HTTP/1.1 503 "))
    for client in first + more.withLock({ $0 }) { #expect(keyed(client)) }
    // A Unix socket's connections are counted apart.
    let local = try fixture.connect()
    local.send(Self.get)
    #expect(local.receive(until: "GET /a ").hasPrefix("HTTP/1.1 200 OK\r\n"))
    for client in first { shutdown(client.descriptor, Int32(SHUT_RDWR)) }
    #expect(await eventually { fixture.server.connectionCount == 5 })
    let last = try Client(port: port)
    #expect(keyed(last))
    await fixture.server.shutdown()
  }

  // Catches a 503 for a program with the key because the oldest connections belong to an event loop that is busy, and
  // are not closed yet.
  @Test("The oldest connection without the key gives way; on one event loop, the oldest there")
  func oldest() throws {
    let (first, second) = (try EpollLoop("first"), try EpollLoop("second"))
    var keyless = KeylessConnections(limit: 3)
    #expect(keyless.oldest() == nil && keyless.oldest(on: first) == nil)
    for (id, loop) in [(1, first), (2, second), (3, first)] { keyless.append(UInt64(id), on: loop) }
    #expect(keyless.isFull && keyless.oldest() == 1 && keyless.oldest(on: second) == 2)
    #expect(keyless.remove(2) && !keyless.remove(2) && keyless.oldest(on: second) == nil && keyless.oldest() == 1)
    for loop in [first, second] {
      loop.stop()
      loop.join()
    }
  }

  // Catches a body in the answer to HEAD, which the client takes for its next response; a problem that lacks what every
  // problem has; and one that does not name the trace of its request.
  @Test("Rejections of the listener have no body in the answer to HEAD, and the trace of their request otherwise")
  func rejections() async throws {
    let trace = "0af7651916cd43dd8448eb211c80319c"
    let seen = Locked(0)
    func serving(head: Duration, _ body: (Fixture) async throws -> Void) async throws {
      let fixture = try await Fixture(address: "127.0.0.1:0") {
        $0.key = { Secret(Self.key) }
        $0.timeouts.head = head
        $0.timeouts.linger = .milliseconds(300)
        $0.connectionsPerUid = 1
        $0.onRejection = { _, _, traceparent in
          seen.withLock { $0 += 1 }
          return traceparent.map { String($0.dropFirst(3).prefix(32)) } ?? "fresh"
        }
      }
      try await body(fixture)
      await fixture.server.shutdown()
    }
    func check(_ fixture: Fixture, _ fields: String, _ status: Int, _ code: ErrorCode, _ trace: String) async throws {
      let port = try #require(fixture.server.port)
      let request = fields.replacing(
        "OWN", with: "Host: 127.0.0.1:\(port)\r\nTraceparent: 00-\(trace)-b7ad6b7169203331-01")
      let client = try Client(port: port)
      client.send("GET \(request)")
      let parts = client.receive().components(separatedBy: "\r\n\r\n")
      #expect(parts.count == 2 && parts[0].hasPrefix("HTTP/1.1 \(status) "), "\(code): \(parts)")
      let body = try JSONSerialization.jsonObject(with: Data((parts.last ?? "").utf8)) as? [String: Any]
      #expect(body?["reason"] as? String == code.reason && body?["traceId"] as? String == trace, "\(code): \(parts)")
      #expect(body?["code"] as? Int == code.number)
      #expect(await eventually { fixture.server.connectionCount == 0 })
      let head = try Client(port: port)
      head.send("HEAD \(request)")
      #expect(head.receive() == "\(parts[0])\r\n\r\n", "\(code)")
      #expect(await eventually { fixture.server.connectionCount == 0 })
    }
    let cases: [(String, status: Int, code: ErrorCode, trace: String)] = [
      ("/a HTTP/1.1\r\nOWN\r\nX Y: z\r\n\r\n", 400, .malformedRequest, trace),
      ("/a HTTP/1.1\r\nOWN\r\n\r\n", 401, .keyRequired, trace),
      ("/a HTTP/1.1\r\nOWN\r\nOrigin: http://127.0.0.1\r\n\r\n", 403, .webPage, trace),
      ("/a HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421, .misdirected, "fresh"),
      ("/a HTTP/1.1\r\nOWN\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", 501, .unsupported, trace),
      ("/a HTTP/1.1\r\nOWN\r\nX: " + String(repeating: "a", count: 20_000), 431, .requestTooLarge, trace),
      ("/" + String(repeating: "a", count: 9000), 414, .requestTooLarge, "fresh"),
    ]
    try await serving(head: .seconds(30)) { fixture in
      for (fields, status, code, trace) in cases { try await check(fixture, fields, status, code, trace) }
      // Over the limit, whose connections are not read any further.
      let kept = try fixture.connect()
      kept.send(Self.get)
      _ = kept.receive(until: "GET /a ")
      for (request, hasBody) in [("GET /a", true), ("HEAD /a", false), ("", true)] {
        let client = try fixture.connect()
        client.send(request)
        let text = client.receive()
        #expect(text.hasPrefix("HTTP/1.1 503 ") && text.hasSuffix("}\n") == hasBody, "\(request): \(text)")
      }
      withExtendedLifetime(kept) {}
    }
    try await serving(head: .milliseconds(300)) { fixture in
      try await check(fixture, "/a HTTP/1.1\r\nOWN\r\nX: y\r\n", 408, .requestTimeout, trace)
    }
    #expect(seen.withLock { $0 } == 2 * cases.count + 3 + 2)
  }

  // Catches a body behind the response to HEAD of an endpoint that has ended.
  @Test("A request of HEAD that an endpoint's end cuts off gets no body")
  func ended() async throws {
    let isWaiting = Locked(false)
    let responder = Responder { _, _ async throws(GatewayClientGone) in
      isWaiting.withLock { $0 = true }
      while !Task.isCancelled { await Task.yield() }
    }
    let fixture = try await Fixture()
    let path = try await fixture.listen("one", responder)
    let client = try Client(path: path)
    client.send("HEAD /a HTTP/1.1\r\nHost: postern\r\n\r\n")
    try #require(await eventually { isWaiting.withLock { $0 } })
    fixture.server.stopListening("one")
    let text = client.receive()
    #expect(text.hasPrefix("HTTP/1.1 403 Forbidden\r\n") && text.hasSuffix("Connection: close\r\n\r\n"), "\(text)")
    await fixture.server.shutdown()
  }
}
