import Testing

@testable import LocalServer

@Suite("What a connection has sent is framed piece by piece")
struct InboundBacklogTests {
  private static func backlog(_ reads: [[UInt8]], messageBytes: Int = 1 << 20) -> InboundBacklog {
    var backlog = InboundBacklog(InboundFramer(messageBytes: messageBytes, depth: 128))
    for read in reads { backlog.add(ByteBuffer(read)) }
    return backlog
  }

  /// Takes everything, at most `limit` events at a time.
  private static func events(_ backlog: inout InboundBacklog, atMost limit: Int, end: Bool) -> [String] {
    var lines: [String] = []
    while true {
      backlog.frame(atMost: limit)
      if end { backlog.end() }
      guard !backlog.isEmpty else { return lines }
      guard backlog.hasEvents else { continue }
      let group = backlog.take(atMost: limit)
      #expect(group.count <= limit)
      lines += group.map(FramerRun.line)
      backlog.didDeliver()
    }
  }

  @Test("a read full of tiny messages is framed as far as there are events wanted")
  func tiny() {
    var backlog = Self.backlog([Array(String(repeating: "[]", count: 32 << 10).utf8)])
    backlog.frame(atMost: 32)
    #expect(backlog.unframedBytes == (64 << 10) - 64)
    #expect(backlog.take(atMost: 32).count == 32)
    #expect(!backlog.hasEvents && !backlog.isEmpty)
  }

  @Test("so is a text that does not end, and blanks: a piece at a time", arguments: ["[\"x", "  "])
  func long(start: String) {
    let blanks = [UInt8](repeating: UInt8(ascii: " "), count: 60_000)
    var backlog = Self.backlog([Array(start.utf8) + blanks, blanks])
    var pieces = 0
    while !backlog.isEmpty {
      let before = backlog.unframedBytes
      backlog.frame(atMost: 32)
      #expect(before - backlog.unframedBytes <= InboundBacklog.pieceBytes)
      pieces += 1
    }
    #expect(pieces == 8)
    #expect(backlog.keptBytes == (start == "  " ? 0 : start.utf8.count + 2 * blanks.count))
  }

  @Test(
    "in pieces comes the same as at once",
    arguments: [
      "{}[1] x y {\n[2][3}[4]\n{\"a\":1}\n{\"b\":", "GET / HTTP/1.1\r\n\r\n",
      "Content-Length: 2\r\n\r\n{}Content-Length: 0\r\n\r\nContent-Length: 9\r\n\r\n[1,2", "C\r\nx\r\n", "x",
    ], [1, 3, 32])
  func same(input: String, limit: Int) {
    let filler = [UInt8](repeating: UInt8(ascii: "\n"), count: input.hasPrefix("C") ? 0 : 40_000)
    let bytes = filler + Array(input.utf8)
    var backlog = Self.backlog([Array(bytes.dropLast(3)), Array(bytes.suffix(3))])
    #expect(Self.events(&backlog, atMost: limit, end: true) == FramerRun.events([bytes]))
  }

  @Test("a message that is given up takes along what came behind it, not what came before")
  func givenUp() {
    var backlog = Self.backlog([Array("[1][2".utf8), Array(",3][4]".utf8)])
    backlog.frame(atMost: 1)
    backlog.giveUp(limit: 7)
    #expect(backlog.take(atMost: 32).map(FramerRun.line) == ["=[1]", "crowded: 7"])
    backlog.didDeliver()
    #expect(backlog.isEmpty && backlog.keptBytes == 0)
  }
}
