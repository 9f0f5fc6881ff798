import CurlTransport
import Glibc
import HTTPMessages
import PosternSupport
import Testing

/// Servers that never come to an end: no other exchange waits for them, and their own exchange ends at its bounds.
@Suite("Servers without end", .timeLimit(.minutes(3)))
struct HostileServerTests {
  struct Hostile: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let start: String
    let again: String
    /// How long between two pieces, in microseconds.
    var pause: UInt32 = 0
  }

  private static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

  static let servers = [
    Hostile(testDescription: "interim responses", start: "", again: "HTTP/1.1 103 Early Hints\r\n\r\n"),
    Hostile(testDescription: "header lines", start: "HTTP/1.1 200 OK\r\n", again: "A: b\r\n"),
    Hostile(
      testDescription: "one header line", start: "HTTP/1.1 200 OK\r\nA: ", again: String(repeating: "x", count: 4096)),
    Hostile(testDescription: "a chunk extension", start: chunked + "5;", again: String(repeating: "x", count: 65_536)),
    Hostile(testDescription: "trailers", start: chunked + "0\r\n", again: "A: b\r\n"),
    Hostile(testDescription: "chunks of one byte", start: chunked, again: "1\r\nx\r\n"),
    Hostile(
      testDescription: "a body by drops", start: "HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n", again: "x",
      pause: 5000),
    Hostile(testDescription: "a head by drops", start: "HTTP/1.1 200 OK\r\nA: ", again: "x", pause: 5000),
    Hostile(
      testDescription: "a body without end", start: "HTTP/1.1 200 OK\r\n\r\n",
      again: String(repeating: "x", count: 65_536)),
  ]

  @Test("others' exchanges go on, and deadlines and bounds hold", arguments: servers)
  func endless(hostile: Hostile) async throws {
    let hostiles = try RawServer { connection in
      guard connection.readRequest() != nil, connection.send(hostile.start) else { return }
      while connection.send(hostile.again) { if hostile.pause > 0 { usleep(hostile.pause) } }
    }
    defer { hostiles.stop() }
    try await withServer {
      $0.serve { ok($0.target) }
    } _: { server, transport in
      let attacks = (0..<4).map { number in
        Task {
          try await transport.failure(
            hostiles.url(),
            options: .testing {
              $0.deadline = Deadline(in: .seconds(2), on: SystemClock())
              $0.peerID = PeerID(uid: 1000, connection: UInt64(number))
            })
        }
      }
      await until { hostiles.requests.count == 4 }
      for number in 0..<50 {
        let response = try await transport.send(
          server.url("/\(number)"),
          options: .testing {
            $0.deadline = Deadline(in: .seconds(60), on: SystemClock())
            $0.peerID = PeerID(uid: 1001, connection: 1)
          })
        #expect(response.text == "/\(number)")
      }
      for attack in attacks {
        let error = try await attack.value
        #expect([.timedOut, .protocolError, .responseTooLarge].contains(error?.code), "\(String(describing: error))")
      }
    }
  }

  @Test("a body that is shorter than declared is not handed out", arguments: [true, false])
  func cut(closes: Bool) async throws {
    try await withServer { connection in
      guard connection.readRequest() != nil else { return }
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
      if !closes { connection.waitForPeer() }
    } _: { server, transport in
      let error = try await transport.failure(
        server.url(), options: .testing { $0.deadline = Deadline(in: .seconds(1), on: SystemClock()) })
      #expect(error == TransportError(code: closes ? .protocolError : .timedOut, outcome: .replied, detail: ""))
    }
  }
}
