import Foundation
import HTTPMessages
import PosternSupport
import Testing

@testable import CurlTransport

@Suite("Bodies with content codings, step by step", .timeLimit(.minutes(3)))
struct CodedBodyTests {
  private static let limit = 1 << 30

  /// `body` to its end: how, after how many steps, and the most that one of them has made.
  private func run(_ body: CodedBody) -> (end: CodedBody.Progress, steps: Int, most: Int) {
    var (steps, most) = (0, 0)
    while true {
      let before = body.decoded.count
      let progress = body.step()
      guard progress == .more else { return (progress, steps, most) }
      steps += 1
      most = max(most, body.decoded.count - before)
    }
  }

  @Test("a small body makes more in one step than a step may")
  func steps() {
    let bomb = GzipBomb.whole(decodingTo: 16 << 20)
    let (end, steps, most) = run(CodedBody(bomb, codings: ["deflate"], limit: Self.limit))
    #expect(end == .done && most <= Inflation.outputPerStep && steps >= 16 << 20 / Inflation.outputPerStep)
  }

  @Test("a body goes on beyond its bound, or stops before it")
  func bound() {
    let bomb = GzipBomb.whole(decodingTo: 1 << 20)
    let whole = CodedBody(bomb, codings: ["deflate"], limit: Self.limit)
    #expect(run(whole).end == .done)
    let count = whole.decoded.count
    #expect(run(CodedBody(bomb, codings: ["deflate"], limit: count)).end == .done)
    #expect(run(CodedBody(bomb, codings: ["deflate"], limit: count - 1)).end == .tooLarge)
  }

  @Test("a body without its end is handed out as whole, or one without bytes is not")
  func cutOff() {
    // "aaaaaaaaaa", by zlib; the same without its frame; and by gzip.
    let framed: [UInt8] = [0x78, 0x9C, 0x4B, 0x4C, 0x84, 0x01, 0x00, 0x14, 0xE1, 0x03, 0xCB]
    let gzip: [UInt8] =
      [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0x4B, 0x4C, 0x84, 1, 0, 0xF0, 0xCD, 0x11, 0x4C, 10, 0, 0, 0]
    for (coding, bytes) in [("deflate", framed), ("deflate", Array(framed[2..<7])), ("gzip", gzip)] {
      for count in 1..<bytes.count {
        #expect(run(CodedBody(Array(bytes.prefix(count)), codings: [coding], limit: 100)).end == .broken, "\(count)")
      }
      #expect(run(CodedBody(bytes, codings: [coding], limit: 100)).end == .done)
      #expect(run(CodedBody([], codings: [coding], limit: 100)).end == .done)
    }
    // gzip of nothing: where a second coding was named, its end is missing.
    let nothing: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    #expect(run(CodedBody(nothing, codings: ["gzip"], limit: 100)).end == .done)
    #expect(run(CodedBody(nothing, codings: ["gzip", "gzip"], limit: 100)).end == .broken)
    #expect(run(CodedBody([], codings: ["gzip", "gzip"], limit: 100)).end == .done)
  }

  @Test("deflate without its frame is not read, or anything for a body that it is not")
  func frames() {
    // "aaaaaaaaaa", by zlib, with its frame and without.
    let framed: [UInt8] = [0x78, 0x9C, 0x4B, 0x4C, 0x84, 0x01, 0x00, 0x14, 0xE1, 0x03, 0xCB]
    for bytes in [framed, Array(framed[2..<7])] {
      let body = CodedBody(bytes, codings: ["deflate"], limit: 100)
      #expect(run(body).end == .done && body.decoded == Array("aaaaaaaaaa".utf8))
    }
    #expect(run(CodedBody(Array("no deflate".utf8), codings: ["deflate"], limit: 100)).end == .broken)
    #expect(run(CodedBody(Array(framed.dropLast() + [0]), codings: ["deflate"], limit: 100)).end == .broken)
    #expect(run(CodedBody(Array(framed[2..<7]), codings: ["gzip"], limit: 100)).end == .broken)
    #expect(run(CodedBody(framed, codings: ["br"], limit: 100)).end == .broken)
  }

  @Test("the first of two codings is undone to its end though the second cannot be")
  func between() {
    // Zeros are no gzip.
    let zeros = GzipBomb.bytes(decodingTo: 1 << 24)
    let (end, steps, _) = run(CodedBody(zeros, codings: ["gzip", "gzip"], limit: 1 << 20))
    #expect(end == .broken && steps <= 2)
  }

  private func exchange(uid: UInt32, limit: Int = Self.limit) throws -> Exchange {
    let options = TransferOptions(maxBodyBytes: limit, peerID: PeerID(uid: uid, connection: 1))
    let request = HTTPRequest(method: "GET", url: try HTTPURL("https://a.example/"))
    let inbox = Inbox(multi: try MultiHandle(configuration: CurlTransport.Configuration()))
    return Exchange(request, options, by: inbox, submittedAt: MonotonicInstant(nanoseconds: 0))
  }

  /// Decodes one step, and returns the exchange whose response is complete with it.
  private func step(_ decodings: inout Decodings) -> Exchange? {
    guard let (exchange, result) = decodings.step(at: MonotonicInstant(nanoseconds: 1)) else { return nil }
    #expect((try? result.get()) != nil)
    return exchange
  }

  @Test("one user's bodies are undone before another's, however many there are")
  func fair() throws {
    var decodings = Decodings()
    let large = HTTPResponse(status: 200, body: GzipBomb.whole(decodingTo: 16 << 20))
    let small = HTTPResponse(status: 200, body: GzipBomb.whole(decodingTo: 1 << 10))
    for _ in 0..<16 { decodings.add(try exchange(uid: 1), large, codings: ["deflate"]) }
    for _ in 0..<100 { #expect(step(&decodings) == nil) }
    let other = try exchange(uid: 2)
    decodings.add(other, small, codings: ["deflate"])
    var steps = 0
    while steps < 10 {
      steps += 1
      if let ended = step(&decodings) {
        #expect(ended === other)
        break
      }
    }
    #expect(steps < 10)
    #expect(decodings.count == 16)
  }

  @Test("an exchange that is given up has its body undone all the same")
  func givenUp() throws {
    var decodings = Decodings()
    let response = HTTPResponse(status: 200, body: GzipBomb.whole(decodingTo: 16 << 20))
    let exchange = try exchange(uid: 1)
    decodings.add(exchange, response, codings: ["deflate"])
    #expect(step(&decodings) == nil)
    let removed = [decodings.remove(exchange), decodings.remove(exchange)]
    #expect(removed == [true, false])
    #expect(step(&decodings) == nil)
    #expect(decodings.isEmpty && decodings.count == 0)
  }
}
