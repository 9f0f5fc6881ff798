import Support
import Testing

@testable import SocketServer

/// One event loop for all: what a busy connection has sent must not hold up another one.
@Suite("Fair turns on an event loop", .timeLimit(.minutes(2)))
struct LoopSchedulerTests {
  @Test("who asks little is answered in between, not behind, what another connection has sent")
  func messages() async throws {
    try await EchoServer.run {
      $0.eventLoops = 1
    } _: { echo in
      let (busy, quiet) = (try echo.client(), try echo.client())
      try await quiet.send("[0]\n")
      #expect(try await quiet.line() == "[0]")
      // Less than a read takes at once.
      try await busy.send(String(repeating: "[\"spin\"]\n", count: 600))
      await echo.log.first("spun")
      try await quiet.send("[1]\n")
      #expect(try await quiet.line() == "[1]")
      #expect(echo.log.lines.count { $0 == "spun" } < 300)
      for _ in 0..<600 { #expect(try await busy.line() == "[\"spin\"]") }
    }
  }

  @Test("tasks of a busy connection do not hold up those of another one, nor the reading of what it sends")
  func tasks() async throws {
    try await EchoServer.run {
      $0.eventLoops = 1
    } _: { echo in
      let (busy, quiet) = (try echo.client(), try echo.client())
      for client in [busy, quiet] {
        try await client.send("[0]\n")
        #expect(try await client.line() == "[0]")
      }
      let done = Locked(0)
      for _ in 0..<400 {
        Task(executorPreference: echo.connection(0).taskExecutor) {
          let end = ContinuousClock.now.advanced(by: .milliseconds(1))
          while ContinuousClock.now < end {}
          done.withLock { $0 += 1 }
        }
      }
      try await quiet.send("[\"on the loop\"]\n")
      #expect(try await quiet.line() == "[true]")
      #expect(done.withLock { $0 } < 200)
      while done.withLock({ $0 }) < 400 { await Task.yield() }
    }
  }
}
