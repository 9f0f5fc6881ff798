import PosternSupport
import PosternTestSupport
import Testing

@testable import LocalServer

@Suite("Messages that are not handled yet", .timeLimit(.minutes(1)))
struct UnfinishedMessageTests {
  private static func text(_ count: Int) -> [UInt8] {
    Array("[\"long".utf8) + [UInt8](repeating: UInt8(ascii: "x"), count: count - 8) + Array("\"]".utf8)
  }

  private static func unfinished(_ echo: EchoServer) -> Int {
    echo.connections.withLock { $0.first?.unfinished.total ?? 0 }
  }

  @Test("a connection that is paused is read from, or gets the end of its input, before it resumes")
  func paused() async throws {
    try await EchoServer.run { echo in
      let client = try echo.client()
      try await client.send("[\"pause\"]\n")
      await echo.log.first("paused")
      try await client.send("[\"note\"]\n[1]\n")
      client.halfClose()
      let other = try echo.client()
      for _ in 0..<10 {
        try await other.send("[2]\n")
        #expect(try await other.line() == "[2]")
      }
      #expect(!echo.log.lines.contains { $0 == "note" || $0.hasPrefix("inputEnded 1") })
      echo.connection().resume()
      #expect(try await client.rest() == "[1]\n")
      #expect(echo.log.lines.contains("note") && echo.log.lines.contains("inputEnded 1"))
    }
  }

  @Test("the texts after a long one are delivered with it, before it is handled")
  func longText() async throws {
    try await EchoServer.run { echo in
      let client = try echo.client()
      try await client.send("[1]\n".utf8 + Self.text(InboundEvent.longText) + "[2]\n".utf8)
      await echo.log.first("long")
      #expect(try await client.line() == "[1]")
      let other = try echo.client()
      try await other.send("[3]\n")
      #expect(try await other.line() == "[3]")
      // It is kept until it is handled.
      #expect(await eventually { Self.unfinished(echo) > InboundEvent.longText - ByteLedger.grain })
      echo.connection().resume()
      #expect(try await client.line() == "[2]")
      #expect(await eventually { Self.unfinished(echo) == 0 })
    }
  }

  @Test("one uid has more unfinished messages here than it may, or its other connections notice what ends one")
  func bounded() async throws {
    try await EchoServer.run {
      $0.limits.messageBytes = 1 << 20
      $0.limits.unfinishedBytesPerUid = 3 << 20
    } _: { echo in
      let size = 1_000_000
      var halves: [UnixClient] = []
      for number in 0..<3 {
        halves.append(try echo.client())
        try await halves[number].send(Array(Self.text(size).dropLast(size / 10)))
      }
      #expect(await eventually { Self.unfinished(echo) > 5 * (1 << 19) })
      let whole = try echo.client()
      try await whole.send("[1]\n")
      #expect(try await whole.line() == "[1]")
      // Beyond the bound the one that sends more goes, and its bytes with it.
      let last = try echo.client()
      _ = try await last.sendUntilStuck(Array(Self.text(size).dropLast(2)), milliseconds: 200)
      #expect(try await last.line() == "{\"crowded\":\(3 << 20)}")
      #expect(await eventually { Self.unfinished(echo) < 3 << 20 })
      for half in halves {
        try await half.send(Array(Self.text(size).suffix(size / 10)))
        // The test lets it go on.
        try await half.send("[4]\n")
      }
      #expect(await eventually { echo.log.lines.count { $0 == "long" } == 3 })
      for number in 0..<3 {
        echo.connection(number).resume()
        #expect(try await halves[number].line() == "[4]")
      }
      #expect(await eventually { Self.unfinished(echo) == 0 })
    }
  }

  @Test("small messages, whole or not, cost a look at what all connections of the uid share")
  func smallMessages() async throws {
    try await EchoServer.run { echo in
      let client = try echo.client()
      try await client.send("[1]\n[\"")
      #expect(try await client.line() == "[1]")
      #expect(Self.unfinished(echo) == 0)
    }
  }
}
