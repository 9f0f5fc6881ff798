import Glibc
import Testing

@testable import LocalServer

@Suite("A connection's life", .timeLimit(.minutes(1)))
struct ConnectionLifeTests {
  @Test("half-close: the end of input is reported once, answers still go out, then the connection ends")
  func halfClose() async throws {
    try await EchoServer.run { echo in
      let client = try echo.client()
      try await client.send("{\"bytes\":3000000}")
      client.halfClose()
      #expect(try await client.skip(.max) == 3_000_001, "everything is written before the connection closes")
      await echo.log.first("closed 1 requested")
      #expect(echo.log.lines.filter { $0.hasPrefix("inputEnded") } == ["inputEnded 1"])
      // Uncounted right after the delegate was called; the suite's time limit bounds the wait.
      while echo.server.connectionCount > 0 { await Task.yield() }
    }
  }

  @Test(
    "a peer that begins a message and stalls is cut off; idle ones stay",
    arguments: [
      "{\"a\":", "[1]\n[", "Content-Length: 5\r\n", "Content-Length: 5\r\n\r\nab", "C",
    ])
  func stall(input: String) async throws {
    try await EchoServer.run {
      $0.timeouts.stall = .milliseconds(150)
    } _: { echo in
      let (silent, done, stalled) = (try echo.client(), try echo.client(), try echo.client())
      try await done.send("[0]\n")
      #expect(try await done.line() == "[0]")
      try await stalled.send(input)
      #expect(await echo.log.first("closed").hasSuffix("stalled"))
      // Those that never began a message, or ended it, are still served.
      try await silent.send("[1]\n")
      try await done.send("[2]\n")
      #expect(try await silent.line() == "[1]")
      #expect(try await done.line() == "[2]")
    }
  }

  @Test("an oversized message that is never finished stalls, too")
  func stallOversized() async throws {
    try await EchoServer.run {
      $0.timeouts.stall = .milliseconds(150)
      $0.limits.messageBytes = 10
    } _: { echo in
      let client = try echo.client()
      try await client.send("[123456789012345")
      #expect(try await client.rest() == "{\"oversized\":10}\n")
      #expect(await echo.log.first("closed") == "closed 1 stalled")
    }
  }

  @Test("one connection's errors touch no other")
  func isolation() async throws {
    try await EchoServer.run { echo in
      let good = try echo.client()
      for input in ["x", "[1 2]\n", "Content-Length: x\r\n\r\n", "{", "[\"close\"]"] {
        let bad = try echo.client()
        try await bad.send(input)
        bad.close()
        try await good.send("[\"good\"]\n")
        #expect(try await good.line() == "[\"good\"]")
      }
    }
  }

  @Test("close ends the connection at once; later sends say so")
  func close() async throws {
    try await EchoServer.run { echo in
      let client = try echo.client()
      try await client.send("[\"close\"]\n")
      #expect(try await client.rest() == "")
      await echo.log.first("closed 1 requested")
      let connection = echo.connection()
      #expect(!connection.send([1]))
      #expect(!connection.isWritable)
      #expect(await !connection.writable())
      connection.close()
      connection.closeAfterFlush()
      #expect(echo.log.lines.filter { $0.hasPrefix("closed") }.count == 1)
    }
  }

  @Test("a peer that does not close after closeAfterFlush is closed after the linger time")
  func linger() async throws {
    try await EchoServer.run {
      $0.timeouts.linger = .milliseconds(200)
    } _: { echo in
      let client = try echo.client()
      try await client.send("x")
      #expect(try await client.rest().hasPrefix("{\"violation\""))
      // The client keeps its end open; the server's is gone all the same.
      #expect(await echo.log.first("closed") == "closed 1 requested")
    }
  }

  @Test("the peer's credentials are the kernel's")
  func credentials() async throws {
    try await EchoServer.run { echo in
      let client = try echo.client()
      try await client.send("[]")
      _ = try await client.line()
      let peer = echo.connection().peer
      #expect(peer.uid == geteuid())
      #expect(peer.gid == getegid())
      #expect(peer.pid == getpid())
      var groups = [gid_t](repeating: 0, count: 1024)
      let count = getgroups(CInt(groups.count), &groups)
      #expect(Set(peer.groups) == Set(groups.prefix(Int(max(0, count)))))
    }
  }

  @Test("shutdown, stopListening and closeAll may come twice; every delegate hears of the end before shutdown returns")
  func shutdown() async throws {
    try await EchoServer.run { echo in
      let clients = [try echo.client(), try echo.client()]
      for client in clients {
        try await client.send("[]")
        _ = try await client.line()
      }
      await echo.server.stopListening()
      await echo.server.stopListening()
      try await clients[0].send("[\"still here\"]")
      #expect(try await clients[0].line() == "[\"still here\"]")
      #expect(throws: UnixClient.Failure(call: "connect", errno: ENOENT)) { try echo.client() }
      echo.server.closeAll()
      echo.server.closeAll()
      await echo.server.shutdown()
      await echo.server.shutdown()
      #expect(echo.log.lines.filter { $0.hasPrefix("closed") }.count == 2)
      // Uncounted right after the delegate was called; the suite's time limit bounds the wait.
      while echo.server.connectionCount > 0 { await Task.yield() }
      #expect(try await clients[1].rest() == "")
    }
  }
}
