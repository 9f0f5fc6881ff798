import HTTPMessages
import PosternSupport
import Testing

@testable import CurlTransport

@Suite("Streams with a content coding", .timeLimit(.minutes(3)))
struct CodedStreamTests {
  /// Offers `bytes` as libcurl does: `first` bytes, and what is not taken again, `more` bytes longer each time.
  private func undo(_ bytes: [UInt8], first: Int, more: Int) throws -> (body: [UInt8], most: Int) {
    var stream = try #require(CodedStream(["deflate"]))
    var (body, most, start, length) = ([UInt8](), 0, 0, first)
    while start < bytes.count {
      let offered = Array(bytes[start..<min(bytes.count, start + length)])
      let before = body.count
      let progress = offered.withUnsafeBufferPointer { stream.undo($0) { body += $0 } }
      most = max(most, body.count - before)
      switch progress {
      case .taken: (start, length) = (start + offered.count, first)
      case .more: length += more
      case .broken: throw Inflation.Problem()
      }
    }
    #expect(stream.isComplete)
    return (body, most)
  }

  @Test("bytes that are offered again, or added meanwhile, are undone twice or lost; a step makes more than it may")
  func offers() throws {
    let bomb = GzipBomb.whole(decodingTo: 4 << 20)
    let expected = CodedBody(bomb, codings: ["deflate"], limit: 1 << 30)
    while expected.step() == .more {}
    for first in [1, 2, 3, 700, 2000, 5000, 1 << 20] {
      for more in [0, 1, 300, 4000] {
        let (body, most) = try undo(bomb, first: first, more: more)
        #expect(body == expected.decoded && most <= Inflation.outputPerStep, "\(first), \(more)")
      }
    }
  }

  @Test("deflate without its frame is rejected where its first byte comes alone")
  func withoutFrame() throws {
    // "aaaaaaaaaa", by zlib, without its frame.
    let bare: [UInt8] = [0x4B, 0x4C, 0x84, 0x01, 0x00]
    for first in 1...5 { #expect(try undo(bare, first: first, more: 0).body == Array("aaaaaaaaaa".utf8)) }
  }

  @Test("bytes that are offered in smaller parts than before are fed twice")
  func smallerOffers() throws {
    let bomb = GzipBomb.whole(decodingTo: 1 << 20)
    var stream = try #require(CodedStream(["deflate"]))
    var body = 0
    var progress = bomb.withUnsafeBufferPointer { stream.undo($0) { body += $0.count } }
    #expect(progress == .more)
    for half in [bomb.prefix(bomb.count / 2), bomb.suffix(bomb.count - bomb.count / 2)] {
      repeat {
        progress = Array(half).withUnsafeBufferPointer { stream.undo($0) { body += $0.count } }
      } while progress == .more
    }
    #expect(progress == .taken && stream.isComplete && body == 1 + (1 << 20) / 258 * 258)
  }

  @Test("what is not the coding passes, or what was cut off for complete, or what is undone elsewhere is here")
  func bounds() throws {
    var broken = try #require(CodedStream(["gzip"]))
    #expect([UInt8](repeating: 7, count: 40).withUnsafeBufferPointer { broken.undo($0) { _ in } } == .broken)
    var cut = try #require(CodedStream(["gzip"]))
    #expect(cut.isComplete)
    #expect(
      Array(GzipBomb.bytes(decodingTo: 10).prefix(11)).withUnsafeBufferPointer { cut.undo($0) { _ in } } == .taken)
    #expect(!cut.isComplete)
    for codings in [[], ["br"], ["zstd"], ["gzip", "gzip"]] { #expect(CodedStream(codings) == nil) }
  }

  @Test("one uid's stream keeps another's from beginning, or two begin, or none after the first has ended")
  func streamsOfLibcurl() {
    let streams = LibcurlDecodings()
    #expect(streams.insert(1) && !streams.insert(1) && streams.insert(2))
    streams.remove(1)
    #expect(streams.insert(1) && !streams.insert(2))
  }

  /// A body to be taken in pieces that is never read.
  private struct Stream {
    let control: TransferControl
    let exchange: Task<Int, any Error>

    init(_ transport: CurlTransport, _ url: String, uid: UInt32 = 1) {
      let control = TransferControl()
      self.control = control
      control.takeBodies { _ in true }
      let options = TransferOptions.testing {
        $0.control = control
        $0.peerID = PeerID(uid: uid, connection: 1)
      }
      exchange = Task { try await transport.send(url, options: options).status }
    }

    /// Returns when something of the body is there.
    func begun() async -> Stream {
      await until { control.progress.received > 0 }
      return self
    }

    func end() async {
      exchange.cancel()
      _ = await exchange.result
    }
  }

  @Test("a stream is offered compression, which a whole body still is")
  func offer() async throws {
    try await withServer {
      $0.serve { _ in ok("plain") }
    } _: { server, transport in
      #expect(try await Stream(transport, server.url()).exchange.value == 200)
      _ = try await transport.send(server.url())
      #expect(try await Stream(transport, server.url()).exchange.value == 200)
      let offers = server.requests.map { $0.fields.filter { $0.hasPrefix("Accept-Encoding") } }
      let usual = ["Accept-Encoding: gzip, deflate"]
      #expect(offers == [["Accept-Encoding: identity"], usual, ["Accept-Encoding: identity"]])
    }
  }

  @Test("unread streams make more of what they have received than their windows")
  func bombs() async throws {
    let bomb = GzipBomb.bytes(decodingTo: 1 << 26)
    let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
    try await withServer { connection in
      _ = connection.readRequest()
      connection.send(head)
      connection.send(String(bomb.count, radix: 16) + "\r\n")
      connection.send(bomb)
      connection.waitForPeer()
    } _: { server, transport in
      var streams: [Stream] = []
      for _ in 0..<40 { streams.append(await Stream(transport, server.url()).begun()) }
      // Another exchange has come and gone: whatever the loop does with them, it has done.
      streams.append(await Stream(transport, server.url(), uid: 2).begun())
      let most = Int64(TransferControl.window + Inflation.outputPerStep)
      #expect(streams.allSatisfy { $0.control.progress.received <= most })
      for stream in streams { await stream.end() }
    }
  }
}
