import HTTPMessages
import PosternSupport
import Testing

@testable import CurlTransport

/// Bodies in very many chunks: others wait for a few of them, not for all.
@Suite("Bodies in small chunks", .timeLimit(.minutes(3)))
struct ReceiveQueueTests {
  @Test("one uid's many transfers keep another's waiting, or more than a few are resumed in an iteration")
  func iterations() {
    let queue = ReceiveQueue()
    var resumed: [UInt32] = []
    for _ in 0..<40 { queue.add(uid: 1) { resumed.append(1) } }
    queue.add(uid: 2) { resumed.append(2) }
    queue.resume()
    #expect(resumed.count == ReceiveQueue.resumesPerIteration)
    #expect(resumed.contains(2))
    for _ in 0..<10 { queue.resume() }
    #expect(resumed.count == 41)
    #expect(queue.isEmpty)
  }

  @Test("a transfer that pauses again at once keeps the loop in one iteration for ever")
  func again() {
    let queue = ReceiveQueue()
    var count = 0
    func pause() {
      queue.add(uid: 1) {
        count += 1
        pause()
      }
    }
    pause()
    queue.resume()
    #expect(count == 1)
    #expect(!queue.isEmpty)
  }

  private static let chunks = 50_000

  @Test("a body in chunks of one byte loses some of them, or never comes to its end", arguments: [false, true])
  func whole(isStreamed: Bool) async throws {
    let body = (0..<Self.chunks).map { UInt8(ascii: "a") + UInt8($0 % 26) }
    let text =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
      + body.map { "1\r\n\(Character(UnicodeScalar($0)))\r\n" }.joined() + "0\r\n\r\n"
    try await withServer { connection in
      while connection.readRequest() != nil { connection.send(text) }
    } _: { server, transport in
      // Twice, the second time over the kept connection and with the same handle.
      for _ in 0..<2 {
        let control = TransferControl()
        if isStreamed { control.takeBodies { _ in true } }
        let exchange = Task { try await transport.send(server.url(), options: .testing { $0.control = control }) }
        var received: [UInt8] = []
        while isStreamed, received.count < body.count, let piece = await control.piece() { received += piece }
        let response = try await exchange.value
        if !isStreamed { received = response.body }
        #expect(received.count == body.count)
        #expect(received == body)
      }
      #expect(server.accepted == 1)
    }
  }

  /// How long another uid's fetch takes, at the median, next to twelve transfers from a server that sends `piece`
  /// without end.
  private func wait(nextTo head: String, _ piece: String) async throws -> Duration {
    let many = String(repeating: piece, count: 10_000)
    let hostile = try RawServer { connection in
      guard connection.readRequest() != nil, connection.send(head) else { return }
      while connection.send(many) {}
    }
    defer { hostile.stop() }
    return try await withServer {
      $0.serve { ok($0.target) }
    } _: { server, transport in
      let attacks = (0..<12).map { number in
        Task {
          try? await transport.send(
            hostile.url(),
            options: .testing {
              $0.maxBodyBytes = .max
              $0.peerID = PeerID(uid: 1000, connection: UInt64(number))
            })
        }
      }
      await until { hostile.requests.count == 12 }
      var times: [Duration] = []
      for _ in 0..<5 {
        let start = ContinuousClock.now
        _ = try await transport.send(
          server.url(), options: .testing { $0.peerID = PeerID(uid: 1001, connection: 1) })
        times.append(ContinuousClock.now - start)
      }
      for attack in attacks { attack.cancel() }
      for attack in attacks { _ = await attack.value }
      return times.sorted()[2]
    }
  }

  @Test("others wait for the chunks of a body that has them without end, a hundred times as long as for its bytes")
  func others() async throws {
    let plain = try await wait(nextTo: "HTTP/1.1 200 OK\r\nContent-Length: 900000000000\r\n\r\n", "x")
    let chunked = try await wait(nextTo: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n")
    #expect(chunked < plain * 20 + .milliseconds(500), "\(chunked) next to chunks, \(plain) next to bytes")
  }
}
