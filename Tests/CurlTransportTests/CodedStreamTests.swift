import HTTPMessages
import PosternSupport
import Testing

@testable import CurlTransport

@Suite("Streams with a content coding", .timeLimit(.minutes(3)))
struct CodedStreamTests {
  @Test("what deflate cannot make is counted for it, or what others can is not")
  func weights() {
    #expect(CodedStreams.weight(of: []) == 0)
    for coding in ["gzip", "x-gzip", "deflate"] { #expect(CodedStreams.weight(of: [coding]) == 4096 * 1032) }
    // 64 MiB, libcurl's own bound: brotli and Zstandard repeat as much as they like, and so do two after each other.
    for codings in [["br"], ["zstd"], ["compress"], ["gzip", "gzip"]] {
      #expect(CodedStreams.weight(of: codings) == 64 << 20)
    }
  }

  @Test("one uid's streams take another's capacity, or more than there is, or do not give it back")
  func capacity() {
    let streams = CodedStreams()
    let weight = CodedStreams.weight(of: ["gzip"])
    for _ in 0..<15 { #expect(streams.begin(weight, of: 1)) }
    #expect(!streams.begin(weight, of: 1))
    #expect(!streams.begin(CodedStreams.weight(of: ["br"]), of: 1))
    #expect(streams.begin(CodedStreams.weight(of: ["br"]), of: 2))
    #expect(!streams.begin(1, of: 2))
    streams.end(weight, of: 1)
    #expect(streams.begin(weight, of: 1))
    streams.end(CodedStreams.weight(of: ["br"]), of: 2)
    #expect(streams.begin(CodedStreams.weight(of: ["br"]), of: 2))
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

  @Test("more than fit are taken, or one that ends leaves no capacity for the next, or another uid has none")
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
      for _ in 0..<15 { streams.append(await Stream(transport, server.url()).begun()) }
      await #expect(throws: TransportError.self) { try await Stream(transport, server.url()).exchange.value }
      streams.append(await Stream(transport, server.url(), uid: 2).begun())
      await streams.removeFirst().end()
      streams.append(await Stream(transport, server.url()).begun())
      await until { transport.statistics().exchangesInFlight == 16 }
      for stream in streams { await stream.end() }
    }
  }
}
