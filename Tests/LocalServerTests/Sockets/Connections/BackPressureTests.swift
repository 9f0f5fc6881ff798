import PosternSupport
import PosternTestSupport
import Testing

@testable import LocalServer

@Suite("Slow readers", .timeLimit(.minutes(2)))
struct BackPressureTests {
  @Test("a peer that does not read is not read from, its answers do not pile up, and nothing is lost when it reads")
  func backPressure() async throws {
    try await EchoServer.run { echo in
      let client = try echo.client()
      // Without back-pressure one read of these would come to megabytes of answers, all of them to 80 MB.
      let request = Array("{\"bytes\":20000}\n".utf8) + [UInt8](repeating: UInt8(ascii: " "), count: 200)
      let requests = [UInt8]((0..<4000).map { _ in request }.joined())
      let taken = try await client.sendUntilStuck(requests, milliseconds: 1000)
      #expect(taken < requests.count, "the server reads on although its responses are not read")
      await echo.log.first("writable false")
      let connection = echo.connection()
      #expect(!connection.isWritable)
      #expect(connection.pendingWriteBytes < 4 << 20)
      try await client.finish(requests, from: taken, reading: 4000 * 20_001)
      await echo.log.first("writable true")
    }
  }

  @Test("a peer that takes nothing for the write time is closed, and another one is not")
  func writeTimeout() async throws {
    try await EchoServer.run {
      $0.timeouts.write = .milliseconds(400)
    } _: { echo in
      let (slow, other) = (try echo.client(), try echo.client())
      try await slow.send("{\"bytes\":8000000}\n")
      #expect(await echo.log.first("closed").hasSuffix("writeTimeout"))
      try await other.send("[1]\n")
      #expect(try await other.line() == "[1]")
    }
  }

  @Test("the write time applies to the last words of a closing connection, too")
  func writeTimeoutWhileClosing() async throws {
    try await EchoServer.run {
      $0.timeouts.write = .milliseconds(400)
    } _: { echo in
      let client = try echo.client()
      try await client.send("{\"bytes\":8000000}")
      client.halfClose()
      #expect(await echo.log.first("closed") == "closed 1 writeTimeout")
    }
  }

  @Test("more waiting than allowed ends the connection instead of filling the memory")
  func overflow() async throws {
    try await EchoServer.run {
      $0.limits.pendingBytes = 1 << 20
    } _: { echo in
      let client = try echo.client()
      try await client.send("{\"bytes\":4000000}\n")
      await echo.log.first("writable false")
      let connection = echo.connection()
      #expect(!connection.send([UInt8](repeating: 0x20, count: 10)))
      #expect(await echo.log.first("closed") == "closed 1 overflow")
    }
  }

  @Test("beyond what one uid may leave unread the connection that has not read for longest goes, and the others go on")
  func unreadOfOneUid() async throws {
    try await EchoServer.run {
      $0.limits.unreadBytesPerUid = 1 << 20
    } _: { echo in
      for number in 1...3 {
        try await echo.client().send("{\"bytes\":1500000}\n")
        if number > 1 { #expect(await echo.log.first("closed \(number - 1)") == "closed \(number - 1) overflow") }
        // Its socket has taken what it takes: from then on it has not read, and who comes now has not read for less
        // long.
        #expect(
          await eventually {
            echo.connections.withLock { (1..<1_500_000).contains($0.first?.unread.total ?? 0) && $0.count == number }
          })
      }
      let reader = try echo.client()
      for _ in 0..<20 {
        try await reader.send("{\"bytes\":100000}\n")
        #expect(try await reader.bytes(100_001).count == 100_001)
      }
    }
  }

  @Test("where a uid leaves much unread, a connection with bytes waiting is not read from until it has taken them all")
  func strainedUid() async throws {
    try await EchoServer.run {
      $0.limits.unreadBytesPerUid = 1 << 20
    } _: { echo in
      let slow = try echo.client()
      // Less than the bytes at which a single connection counts as not reading.
      try await slow.send("{\"bytes\":900000}\n")
      #expect(await eventually { echo.connections.withLock { $0.first?.isWritable == false } })
      try await slow.send("[\"note\"]\n")
      // Later, so that the slow one is the first.
      let other = try echo.client()
      for _ in 0..<10 {
        try await other.send("[1]\n")
        #expect(try await other.line() == "[1]")
      }
      #expect(!echo.log.lines.contains("note"))
      #expect(try await slow.skip(900_001) == 900_001)
      #expect(await echo.log.first("note") == "note")
      #expect(await eventually { echo.connections.withLock { $0.first?.unread.total == 0 } })
    }
  }

  @Test("a sender that waits in writable() keeps little waiting, however much it sends")
  func limited() async throws {
    try await EchoServer.run { echo in
      let client = try echo.client()
      try await client.send("[\"limited\"]\n")
      #expect(try await client.skip(256 * (1 << 16 + 1)) == 256 * (1 << 16 + 1))
      let line = await echo.log.first("limited at most ")
      let most = Int(line.dropFirst("limited at most ".count)) ?? .max
      #expect(most <= 2 << 20)
    }
  }

  @Test("writable() ends when the connection does, and when its task is cancelled")
  func writableEnds() async throws {
    try await EchoServer.run { echo in
      let client = try echo.client()
      try await client.send("{\"bytes\":8000000}\n")
      await echo.log.first("writable false")
      let connection = echo.connection()
      let cancelled = Task { await connection.writable() }
      let closed = Task { await connection.writable() }
      cancelled.cancel()
      #expect(await !cancelled.value)
      connection.close()
      #expect(await !closed.value)
      let late = Task { await connection.writable() }
      #expect(await !late.value)
    }
  }

  @Test("messages sent from tasks arrive whole, and each task's in its order")
  func concurrentSends() async throws {
    try await EchoServer.run { echo in
      let client = try echo.client()
      try await client.send("[\"tasks\"]\n")
      var next = [0, 0, 0, 0]
      for _ in 0..<1000 {
        let line = try #require(try await client.line())
        let numbers = line.dropFirst().dropLast().split(separator: ",").compactMap { Int($0) }
        try #require(numbers.count == 2, "\(line)")
        #expect(numbers[1] == next[numbers[0]])
        next[numbers[0]] += 1
      }
    }
  }

  @Test("a task with the connection's executor runs on its event loop")
  func taskExecutor() async throws {
    try await EchoServer.run { echo in
      let client = try echo.client()
      try await client.send("[\"on the loop\"]\n")
      #expect(try await client.line() == "[true]")
    }
  }
}

extension UnixClient {
  /// Sends the rest of `bytes` while reading exactly `count` bytes of answers.
  fileprivate func finish(_ bytes: [UInt8], from start: Int, reading count: Int) async throws {
    var (sent, read) = (start, 0)
    while read < count {
      if sent < bytes.count { sent += try await sendUntilStuck(Array(bytes[sent...].prefix(4096)), milliseconds: 0) }
      let taken = try await skip(min(count - read, 1 << 18))
      guard taken > 0 else { break }
      read += taken
    }
    #expect(read == count)
    #expect(sent == bytes.count)
  }
}
