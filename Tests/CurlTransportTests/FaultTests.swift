import CurlTransport
import Glibc
import HTTPMessages
import PosternSupport
import Testing

@Suite("Faults of peer and network", .timeLimit(.minutes(3)))
struct FaultTests {
  struct Fault: Sendable, CustomTestStringConvertible {
    enum End: Sendable {
      /// FIN.
      case close
      /// RST.
      case reset
      /// The server stays, silent: the client must see by itself that it has seen enough.
      case stay
    }

    let testDescription: String
    /// Nil: the connection ends before the request is read.
    let wire: String?
    var end = End.close
    let code: TransportError.Code
    let outcome: TransportError.Outcome
  }

  private static let head = "HTTP/1.1 200 OK\r\n"

  static let faults: [Fault] = [
    Fault(testDescription: "no reply", wire: "", code: .serverUnreachable, outcome: .sentNoReply),
    Fault(
      testDescription: "reset instead of a reply", wire: "", end: .reset, code: .serverUnreachable,
      outcome: .sentNoReply),
    Fault(
      testDescription: "closed in the status line", wire: "HTTP/1.1 2", code: .serverUnreachable,
      outcome: .sentNoReply),
    Fault(testDescription: "closed in the head", wire: head + "A: 1\r\nB", code: .protocolError, outcome: .sentNoReply),
    Fault(
      testDescription: "reset in the head", wire: head + "A: 1\r\nB", end: .reset, code: .serverUnreachable,
      outcome: .sentNoReply),
    Fault(
      testDescription: "a body until the end, reset", wire: head + "\r\nhel", end: .reset, code: .protocolError,
      outcome: .replied),
    Fault(
      testDescription: "only an interim response", wire: "HTTP/1.1 100 Continue\r\n\r\n", code: .serverUnreachable,
      outcome: .sentNoReply),
    Fault(
      testDescription: "body cut short", wire: head + "Content-Length: 5\r\n\r\nhel", code: .protocolError,
      outcome: .replied),
    Fault(
      testDescription: "body reset", wire: head + "Content-Length: 5\r\n\r\nhel", end: .reset, code: .protocolError,
      outcome: .replied),
    Fault(
      testDescription: "chunk cut short", wire: head + "Transfer-Encoding: chunked\r\n\r\n5\r\nhel",
      code: .protocolError, outcome: .replied),
    Fault(
      testDescription: "no last chunk", wire: head + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
      code: .protocolError,
      outcome: .replied),
    Fault(
      testDescription: "chunk size that is none",
      wire: head + "Transfer-Encoding: chunked\r\n\r\nxyz\r\nhello\r\n0\r\n\r\n", end: .stay,
      code: .protocolError, outcome: .replied),
    Fault(
      testDescription: "chunk size beyond all numbers",
      wire: head + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nhello", end: .stay,
      code: .protocolError, outcome: .replied),
    Fault(
      testDescription: "length that is none", wire: head + "Content-Length: five\r\n\r\nhello", end: .stay,
      code: .protocolError,
      outcome: .sentNoReply),
    Fault(
      testDescription: "negative length", wire: head + "Content-Length: -5\r\n\r\nhello", end: .stay,
      code: .protocolError,
      outcome: .sentNoReply),
    Fault(
      testDescription: "two lengths", wire: head + "Content-Length: 5\r\nContent-Length: 4\r\n\r\nhello", end: .stay,
      code: .protocolError,
      outcome: .sentNoReply),
    Fault(
      testDescription: "no HTTP at all", wire: "SSH-2.0-OpenSSH_9.2\r\n", code: .protocolError, outcome: .sentNoReply),
    Fault(testDescription: "HTTP/0.9", wire: "<html>hello</html>", code: .protocolError, outcome: .sentNoReply),
    Fault(
      testDescription: "binary rubbish", wire: "\0\u{1}\u{2}\u{3}\r\n\r\n", code: .protocolError,
      outcome: .sentNoReply),
    Fault(
      testDescription: "an unknown version", wire: "HTTP/7.3 200 OK\r\n\r\n", end: .stay, code: .protocolError,
      outcome: .sentNoReply),
    Fault(
      testDescription: "status 999", wire: "HTTP/1.1 999 X\r\n\r\n", end: .stay, code: .protocolError,
      outcome: .sentNoReply),
    Fault(
      testDescription: "a switch of protocols", wire: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
      end: .stay,
      code: .protocolError, outcome: .sentNoReply),
    Fault(
      testDescription: "a line that is no field", wire: head + "no field\r\n\r\n", end: .stay, code: .protocolError,
      outcome: .sentNoReply),
    Fault(
      testDescription: "NUL in a field", wire: head + "A: x\0y\r\n\r\n", end: .stay, code: .protocolError,
      outcome: .sentNoReply),
    Fault(
      testDescription: "a split value", wire: head + "A: x\rSet-Cookie: y\r\n\r\n", end: .stay, code: .protocolError,
      outcome: .sentNoReply),
    Fault(
      testDescription: "too many fields", wire: head + String(repeating: "A: 1\r\n", count: 1001) + "\r\n", end: .stay,
      code: .responseTooLarge, outcome: .sentNoReply),
    Fault(
      testDescription: "too large fields",
      wire: head + String(repeating: "A: \(String(repeating: "x", count: 9000))\r\n", count: 30) + "\r\n",
      end: .stay, code: .responseTooLarge, outcome: .sentNoReply),
    Fault(
      testDescription: "one line without end", wire: head + "A: " + String(repeating: "x", count: 300_000), end: .stay,
      code: .responseTooLarge, outcome: .sentNoReply),
    Fault(
      testDescription: "a status line without end", wire: "HTTP/1.1 200 " + String(repeating: "x", count: 300_000),
      end: .stay,
      code: .responseTooLarge, outcome: .sentNoReply),
    Fault(
      testDescription: "interim responses without end",
      wire: String(repeating: "HTTP/1.1 102 Processing\r\n\r\n", count: 33), end: .stay,
      code: .protocolError, outcome: .sentNoReply),
    Fault(
      testDescription: "trailers without end",
      wire: head + "Transfer-Encoding: chunked\r\n\r\n0\r\n" + String(repeating: "T: 1\r\n", count: 1001), end: .stay,
      code: .responseTooLarge, outcome: .replied),
    Fault(
      testDescription: "a declared length beyond the bound", wire: head + "Content-Length: 1001\r\n\r\n", end: .stay,
      code: .responseTooLarge, outcome: .replied),
    Fault(
      testDescription: "chunks beyond the bound",
      wire: head + "Transfer-Encoding: chunked\r\n\r\n3e8\r\n\(String(repeating: "x", count: 1000))\r\n1\r\nx",
      end: .stay,
      code: .responseTooLarge, outcome: .replied),
    Fault(
      testDescription: "a body until the end beyond the bound",
      wire: head + "\r\n" + String(repeating: "x", count: 1001), end: .stay,
      code: .responseTooLarge, outcome: .replied),
  ]

  @Test("a broken reply has an error about what broke and how far it went", arguments: faults)
  func fault(fault: Fault) async throws {
    try await withServer { connection in
      guard connection.readRequest() != nil else { return }
      connection.send(fault.wire ?? "")
      switch fault.end {
      case .close: break
      case .reset: connection.reset()
      case .stay: connection.waitForPeer()
      }
    } _: { server, transport in
      let error = try await transport.failure(server.url("/?secret=1"), options: .testing { $0.maxBodyBytes = 1000 })
      #expect(
        error == TransportError(code: fault.code, outcome: fault.outcome, detail: ""), "\(String(describing: error))")
      #expect(error.map { !$0.detail.contains("secret") && !$0.detail.isEmpty } == true)
      #expect(server.requests.count == 1)
    }
  }

  @Test("a body of exactly the bound is fine", arguments: ["Content-Length: 1000\r\n", ""])
  func exactBound(field: String) async throws {
    let wire = Self.head + field + "\r\n" + String(repeating: "x", count: 1000)
    try await withServer {
      _ = $0.readRequest()
      $0.send(wire)
    } _: { server, transport in
      let response = try await transport.send(server.url(), options: .testing { $0.maxBodyBytes = 1000 })
      #expect(response.body.count == 1000)
    }
  }

  @Test("a body need not fit where there is none", arguments: [0, -1])
  func noBody(bound: Int) async throws {
    try await withServer {
      $0.serve { ok($0.target == "/empty" ? "" : "x") }
    } _: { server, transport in
      let options = TransferOptions.testing { $0.maxBodyBytes = bound }
      let empty = try await transport.send(server.url("/empty"), options: options)
      #expect(empty.status == 200)
      let error = try await transport.failure(server.url(), options: options)
      #expect(error?.code == .responseTooLarge)
    }
  }

  @Test("a fault leaves the next exchange alone: the same transport, the same server")
  func recovery() async throws {
    try await withServer { connection in
      while let request = connection.readRequest() {
        if request.target == "/bad" {
          connection.send("HTTP/1.1 200 OK\r\nA: x\0\r\n\r\n")
        } else {
          connection.send(ok("good"))
        }
      }
    } _: { server, transport in
      for _ in 0..<5 {
        let error = try await transport.failure(server.url("/bad"))
        #expect(error?.code == .protocolError)
        let response = try await transport.send(server.url("/good"))
        #expect(response.text == "good")
      }
    }
  }

  @Test("a reset while the request is on its way does not bring the process down")
  func resetWhileSending() async throws {
    try await withServer {
      $0.reset()
    } _: { server, transport in
      let error = try await transport.failure("POST", server.url(), body: Array(repeating: 1, count: 20_000_000))
      #expect(error?.code == .serverUnreachable)
    }
  }

  @Test("no server listens: unreachable, and nothing was sent")
  func rejected() async throws {
    let transport = try CurlTransport(configuration: .testing())
    defer { transport.close() }
    let (deaf, port) = try Loopback.listen(backlog: nil)
    defer { close(deaf) }
    let error = try await transport.failure("POST", "http://127.0.0.1:\(port)/", body: [1])
    #expect(error == TransportError(code: .serverUnreachable, outcome: .notSent, detail: ""))
  }

  @Test("a name that does not exist: unreachable, and nothing was sent")
  func unknownName() async throws {
    let transport = try CurlTransport(configuration: .testing())
    defer { transport.close() }
    let error = try await transport.failure(
      "http://no-such-host.invalid/", options: .testing { $0.connectTimeout = .seconds(5) })
    #expect(error == TransportError(code: .serverUnreachable, outcome: .notSent, detail: ""))
  }

  @Test("the kernel has no route: the network is unreachable")
  func noRoute() async throws {
    let transport = try CurlTransport(configuration: .testing())
    defer { transport.close() }
    // TCP to the broadcast address is ENETUNREACH on every Linux machine.
    let error = try await transport.failure("http://255.255.255.255/")
    #expect(error == TransportError(code: .networkUnreachable, outcome: .notSent, detail: ""))
    // And that number must not stick to the handle.
    let (deaf, port) = try Loopback.listen(backlog: nil)
    defer { close(deaf) }
    #expect(try await transport.failure("http://127.0.0.1:\(port)/")?.code == .serverUnreachable)
  }

  @Test(
    "a link-local address is not even tried unless it is allowed",
    arguments: ["169.254.169.254", "[fe80::1]", "[::ffff:169.254.169.254]", "[64:ff9b::169.254.169.254]"])
  func linkLocal(host: String) async throws {
    let transport = try CurlTransport(configuration: .testing())
    defer { transport.close() }
    let error = try await transport.failure("http://\(host)/")
    #expect(error == TransportError(code: .addressNotAllowed, outcome: .notSent, detail: ""))
    let tried = try await transport.failure(
      "http://\(host)/",
      options: .testing {
        $0.allowsLinkLocal = true
        $0.connectTimeout = .milliseconds(50)
      })
    #expect(tried?.code != .addressNotAllowed)
  }

  @Test("a server that does not take the connection in time is unreachable")
  func connectTimeout() async throws {
    // A queue of one that is full: further connection requests are dropped without a word.
    let (listener, port) = try Loopback.listen(backlog: 0)
    let fillers = (0..<4).compactMap { _ in Loopback.connect(port: port, blocking: false) }
    defer {
      for descriptor in fillers + [listener] { close(descriptor) }
    }
    let transport = try CurlTransport(configuration: .testing())
    defer { transport.close() }
    let error = try await transport.failure(
      "http://127.0.0.1:\(port)/", options: .testing { $0.connectTimeout = .milliseconds(200) })
    #expect(error == TransportError(code: .serverUnreachable, outcome: .notSent, detail: ""))
  }

  @Test("TLS to a server that speaks none is a TLS failure, and nothing was sent")
  func tlsToPlain() async throws {
    try await withServer {
      $0.send("HTTP/1.1 400 Bad Request\r\n\r\n")
      $0.waitForPeer()
    } _: { server, transport in
      let error = try await transport.failure("https://127.0.0.1:\(server.port)/")
      #expect(error == TransportError(code: .tlsFailure, outcome: .notSent, detail: ""))
    }
  }
}
