import Testing

@testable import LocalServer

/// One event loop for all: the messages of a busy connection must not delay another one.
@Suite("Fair turns on an event loop", .timeLimit(.minutes(2)))
struct LoopSchedulerTests {
  @Test("a connection with few messages is answered between, not after, the messages of another one")
  func messages() async throws {
    try await EchoServer.run {
      $0.eventLoops = 1
    } _: { echo in
      let (busy, quiet) = (try echo.client(), try echo.client())
      try await quiet.send("[0]\n")
      #expect(try await quiet.line() == "[0]")
      // Less than a read takes at once; the loop is blocked until the other one has sent its message, too.
      try await busy.send("[\"hold\"]\n" + String(repeating: "[\"spin\"]\n", count: 600))
      await echo.log.first("blocked")
      try await quiet.send("[\"note\"]\n")
      echo.log.add("go on")
      await echo.log.first("note")
      #expect(echo.log.lines.prefix { $0 != "note" }.count { $0 == "spun" } < 300)
      for _ in 0..<600 { #expect(try await busy.line() == "[\"spin\"]") }
    }
  }

  @Test("connections whose costly messages arrive at one moment are all served before any other")
  func oneMoment() async throws {
    try await EchoServer.run {
      $0.eventLoops = 1
    } _: { echo in
      let (blocker, quiet) = (try echo.client(), try echo.client())
      let busy = try (0..<40).map { _ in try echo.client() }
      for client in busy {
        try await client.send("[\"spin\"]\n")
        #expect(try await client.line() == "[\"spin\"]")
      }
      // The loop is blocked until all of them have sent more, and the other one after them.
      try await blocker.send("[\"hold\"]\n")
      await echo.log.first("blocked")
      for client in busy { try await client.send("[\"spin\"]\n") }
      try await quiet.send("[\"note\"]\n")
      echo.log.add("go on")
      await echo.log.first("note")
      #expect(echo.log.lines.prefix { $0 != "note" }.count { $0 == "spun" } < 60)
      for client in busy { #expect(try await client.line() == "[\"spin\"]") }
    }
  }

  @Test("tasks of a busy connection do not delay those of another one, nor the reading of what it sends")
  func tasks() async throws {
    try await EchoServer.run {
      $0.eventLoops = 1
    } _: { echo in
      let (busy, quiet) = (try echo.client(), try echo.client())
      for client in [busy, quiet] {
        try await client.send("[0]\n")
        #expect(try await client.line() == "[0]")
      }
      // The loop is blocked until all of them wait, and the other one has sent its message.
      try await busy.send("[\"hold\"]\n")
      await echo.log.first("blocked")
      let log = echo.log
      for _ in 0..<400 {
        Task(executorPreference: echo.connection(0).taskExecutor) {
          let end = ContinuousClock.now.advanced(by: .milliseconds(1))
          while ContinuousClock.now < end {}
          log.add("done")
        }
      }
      try await quiet.send("[\"on the loop\"]\n")
      log.add("go on")
      #expect(try await quiet.line() == "[true]")
      #expect(log.lines.prefix { $0 != "on the loop" }.count { $0 == "done" } < 200)
      while log.lines.count(where: { $0 == "done" }) < 400 { await Task.yield() }
    }
  }
}
