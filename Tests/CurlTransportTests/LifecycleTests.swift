import CurlTransport
import Glibc
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

@Suite("Cancellation, closing and deadlines", .timeLimit(.minutes(3)))
struct LifecycleTests {
  private static let cancelled = TransportError(code: .cancelled, outcome: .notSent, detail: "")

  // MARK: - Without a task

  /// Starts a request; the results come into the list.
  private static func start(
    _ transport: CurlTransport, _ url: String, control: TransferControl? = nil
  ) throws -> (handle: (any TransferHandle)?, results: Locked<[Result<HTTPResponse, TransportError>]>) {
    let results = Locked<[Result<HTTPResponse, TransportError>]>([])
    let handle = transport.start(
      HTTPRequest(method: "GET", url: try HTTPURL(url)), options: .testing { $0.control = control }
    ) { result in results.withLock { $0.append(result) } }
    return (handle, results)
  }

  @Test("an exchange that was started ends once: with its response, however often it is cancelled afterwards")
  func started() async throws {
    try await withServer {
      $0.serve { _ in ok("x") }
    } _: { server, transport in
      let (handle, results) = try Self.start(transport, server.url())
      await until { results.withLock { !$0.isEmpty } }
      handle?.cancel()
      handle?.cancel()
      // Another iteration of the loop has seen the cancellation.
      #expect(try await transport.send(server.url()).text == "x")
      let texts = results.withLock { $0.map { try? $0.get().text } }
      #expect(texts == ["x"])
    }
  }

  @Test("an exchange that was started is cancelled once, and its control is free for the next one by then")
  func startedAndCancelled() async throws {
    let isThere = Gate()
    try await withServer { connection in
      while let request = connection.readRequest() {
        if request.target == "/next" {
          connection.send(ok("y"))
        } else {
          isThere.open()
          connection.waitForPeer()
        }
      }
    } _: { server, transport in
      let control = TransferControl()
      let (handle, results) = try Self.start(transport, server.url(), control: control)
      await isThere.wait()
      for _ in 0..<3 { handle?.cancel() }
      await until { results.withLock { !$0.isEmpty } }
      let next = try Self.start(transport, server.url("/next"), control: control)
      control.pause(at: SystemClock().monotonicNow)
      control.resume(at: SystemClock().monotonicNow)
      await until { next.results.withLock { !$0.isEmpty } }
      #expect(next.results.withLock { $0.map { try? $0.get().text } } == ["y"])
      let ends = results.withLock { $0 }
      #expect(ends.count == 1)
      #expect(throws: TransportError(code: .cancelled, outcome: .sentNoReply, detail: "")) { try ends.first?.get() }
    }
  }

  @Test("an exchange of a closed transport has ended before there is anything to cancel")
  func startedAfterClosing() throws {
    let transport = try CurlTransport(configuration: .testing())
    transport.close()
    let (handle, results) = try Self.start(transport, "http://127.0.0.1:1/")
    #expect(handle == nil)
    let ends = results.withLock { $0 }
    #expect(ends.count == 1)
    #expect(throws: Self.cancelled) { try ends.first?.get() }
  }

  // MARK: - Cancellation

  @Test("a task that is cancelled before it sends sends nothing")
  func cancelledBefore() async throws {
    try await withServer {
      $0.serve { _ in ok() }
    } _: { server, transport in
      let gate = Gate()
      let task = Task {
        await gate.wait()
        return try await transport.failure(server.url())
      }
      task.cancel()
      gate.open()
      let error = try await task.value
      #expect(error == Self.cancelled)
      #expect(server.accepted == 0)
    }
  }

  @Test(
    "cancelling ends an exchange at whatever point it is, and reports how far it had come",
    arguments: [
      ("", TransportError.Outcome.sentNoReply), ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", .replied),
    ])
  func cancelledUnderWay(wire: String, outcome: TransportError.Outcome) async throws {
    let isThere = Gate()
    let isGone = Gate()
    try await withServer { connection in
      _ = connection.readRequest()
      connection.send(wire)
      isThere.open()
      connection.waitForPeer()
      isGone.open()
    } _: { server, transport in
      let task = Task { try await transport.failure(server.url()) }
      await isThere.wait()
      if outcome == .replied { await until { transport.statistics().exchangesInFlight == 1 } }
      task.cancel()
      let error = try await task.value
      #expect(error?.code == .cancelled)
      // The head may still be on its way to libcurl.
      #expect(error?.outcome == outcome || (outcome == .replied && error?.outcome == .sentNoReply))
      // The server sees the end, too: nothing keeps a dead exchange's connection.
      await isGone.wait()
      let statistics = transport.statistics()
      #expect(statistics.cancellations == 1 && statistics.failures == 1 && statistics.exchangesInFlight == 0)
    }
  }

  @Test("cancelling in a race with the reply ends each exchange once, one way or the other")
  func cancelledInARace() async throws {
    try await withServer {
      $0.serve { _ in ok("x") }
    } _: { server, transport in
      let url = server.url()
      let outcomes = await withTaskGroup(of: Bool?.self) { group in
        for index in 0..<400 {
          group.addTask {
            let task = Task { try await transport.send(url) }
            for _ in 0..<(index % 40) { await Task.yield() }
            task.cancel()
            do {
              return try await task.value.text == "x"
            } catch let error as TransportError {
              return error.code == .cancelled ? false : nil
            } catch {
              return nil
            }
          }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
      #expect(outcomes.count == 400)
      #expect(outcomes.allSatisfy { $0 != nil })
      let after = try await transport.send(url)
      #expect(after.text == "x")
      let statistics = transport.statistics()
      // A response that a cancellation has overtaken is neither; the last request was answered.
      #expect(statistics.responses + statistics.failures <= 401)
      #expect(statistics.responses == outcomes.count { $0 == true } + 1)
      #expect(statistics.exchangesInFlight == 0 && statistics.exchangesQueued == 0)
    }
  }

  @Test("an exchange that waits for a connection can be cancelled without disturbing those that wait with it")
  func cancelledWhileWaiting() async throws {
    let isThere = Gate()
    let mayAnswer = Gate()
    try await withServer(configuration: .testing { $0.maxConnectionsPerHost = 1 }) { connection in
      connection.serve { request in
        isThere.open()
        if request.target == "/first" { mayAnswer.waitOnThread() }
        return ok(request.target)
      }
    } _: { server, transport in
      let first = Task { try await transport.send(server.url("/first")) }
      await isThere.wait()
      let waiting = (0..<6).map { index in Task { try await transport.send(server.url("/\(index)")) } }
      await until { transport.statistics().exchangesQueued == 6 }
      for index in [0, 3, 5] {
        waiting[index].cancel()
        let result = await waiting[index].result
        #expect(throws: Self.cancelled) { try result.get() }
      }
      mayAnswer.open()
      for index in [1, 2, 4] {
        let response = try await waiting[index].value
        #expect(response.text == "/\(index)")
      }
      let response = try await first.value
      #expect(response.text == "/first")
      #expect(server.accepted == 1)
    }
  }

  // MARK: - Closing

  @Test("closing ends every outstanding exchange, and a closed transport takes no more")
  func closing() async throws {
    let server = try RawServer { connection in
      _ = connection.readRequest()
      connection.waitForPeer()
    }
    defer { server.stop() }
    let transport = try CurlTransport(configuration: .testing { $0.maxConnectionsPerHost = 4 })
    let tasks = (0..<20).map { _ in Task { try await transport.failure(server.url()) } }
    await until { server.requests.count == 4 && transport.statistics().exchangesQueued == 16 }
    transport.close()
    var sent = 0
    for task in tasks {
      let error = try await task.value
      #expect(error?.code == .cancelled)
      if error?.outcome == .sentNoReply { sent += 1 }
    }
    #expect(sent == 4)
    let late = try await transport.failure(server.url())
    #expect(late == Self.cancelled)
    let statistics = transport.statistics()
    #expect(statistics.connectionsOpen == 0 && statistics.exchangesInFlight == 0 && statistics.cancellations == 20)
  }

  @Test("closing twice, at once, and while others send: all come back")
  func closingConcurrently() async throws {
    let server = try RawServer { $0.serve { _ in ok("x") } }
    defer { server.stop() }
    for _ in 0..<20 {
      let transport = try CurlTransport(configuration: .testing())
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<16 {
          group.addTask {
            // Either is right; what counts is that each comes back.
            _ = try? await transport.send(server.url())
          }
        }
        for _ in 0..<2 { group.addTask { transport.close() } }
      }
      transport.close()
      #expect(transport.statistics().connectionsOpen == 0)
    }
  }

  @Test("a transport that is dropped without being closed ends its thread by itself")
  func dropped() async throws {
    let server = try RawServer { $0.serve { _ in ok("x") } }
    defer { server.stop() }
    for _ in 0..<10 {
      let transport = try CurlTransport(configuration: .testing())
      let response = try await transport.send(server.url())
      #expect(response.text == "x")
    }
    // Their connections close with them.
    await until { server.open == 0 }
  }

  @Test("the thread bears its name and takes no signal of the process")
  func thread() async throws {
    try await withServer {
      $0.serve { _ in ok() }
    } _: { server, transport in
      _ = try await transport.send(server.url())
      let statuses = Threads.statuses(named: "postern-curl")
      #expect(!statuses.isEmpty)
      for status in statuses {
        for signal in [SIGTERM, SIGINT, SIGHUP, SIGPIPE] { #expect(status.blocks(signal)) }
        #expect(!status.blocks(SIGSEGV))
      }
    }
  }

  // MARK: - Deadlines

  @Test("a deadline that has passed already lets nothing leave")
  func deadlinePassed() async throws {
    let clock = ManualClock()
    try await withServer(configuration: .testing(clock: clock)) {
      $0.serve { _ in ok() }
    } _: { server, transport in
      let error = try await transport.failure(
        server.url(), options: .testing { $0.deadline = Deadline(in: .zero, on: clock) })
      #expect(error == TransportError(code: .timedOut, outcome: .notSent, detail: ""))
      #expect(server.accepted == 0)
    }
  }

  @Test("a deadline ends the exchange it belongs to when its time has come, not before, and no other")
  func deadlineUnderWay() async throws {
    let clock = ManualClock()
    let mayAnswer = Gate()
    try await withServer(configuration: .testing(clock: clock)) { connection in
      connection.serve { request in
        mayAnswer.waitOnThread()
        return ok(request.target)
      }
    } _: { server, transport in
      let tasks = [nil, 10, 20, 30].map { (seconds: Int?) in
        Task {
          try await transport.failure(
            server.url(),
            options: .testing { if let seconds { $0.deadline = Deadline(in: .seconds(seconds), on: clock) } })
        }
      }
      await until { server.requests.count == 4 }
      clock.advance(by: .seconds(9))
      // A deadline that were measured on another clock or rounded down would strike now.
      for _ in 0..<2 { #expect(await transport.responds(within: .seconds(30))) }
      #expect(transport.statistics().exchangesInFlight == 4)
      clock.advance(by: .seconds(1))
      let first = try await tasks[1].value
      #expect(first == TransportError(code: .timedOut, outcome: .sentNoReply, detail: ""))
      clock.advance(by: .seconds(15))
      let second = try await tasks[2].value
      #expect(second?.code == .timedOut)
      #expect(transport.statistics().exchangesInFlight == 2)
      mayAnswer.open()
      let unbounded = try await tasks[0].value
      let third = try await tasks[3].value
      #expect(unbounded == nil && third == nil)
    }
  }

  @Test("a deadline holds while the exchange waits for a connection")
  func deadlineWhileWaiting() async throws {
    let clock = ManualClock()
    let isThere = Gate()
    try await withServer(configuration: .testing(clock: clock) { $0.maxConnections = 1 }) { connection in
      _ = connection.readRequest()
      isThere.open()
      connection.waitForPeer()
    } _: { server, transport in
      let first = Task { try await transport.failure(server.url()) }
      await isThere.wait()
      let second = Task {
        try await transport.failure(
          server.url(), options: .testing { $0.deadline = Deadline(in: .seconds(1), on: clock) })
      }
      await until { transport.statistics().exchangesQueued == 1 }
      clock.advance(by: .seconds(1))
      let error = try await second.value
      #expect(error == TransportError(code: .timedOut, outcome: .notSent, detail: ""))
      first.cancel()
      _ = try await first.value
    }
  }

  @Test("a slow drip of a body does not outlive the deadline")
  func drip() async throws {
    let clock = ManualClock()
    let dripping = Gate()
    try await withServer(configuration: .testing(clock: clock)) { connection in
      _ = connection.readRequest()
      connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
      while connection.send("1\r\nx\r\n") { dripping.open() }
    } _: { server, transport in
      let task = Task {
        try await transport.failure(
          server.url(),
          options: .testing {
            $0.maxBodyBytes = .max
            $0.deadline = Deadline(in: .seconds(5), on: clock)
          })
      }
      await dripping.wait()
      clock.advance(by: .seconds(5))
      let error = try await task.value
      #expect(error?.code == .timedOut)
    }
  }

  @Test("a body in pieces outlives the deadline as long as something comes, and ends when the server falls silent")
  func streamBounds() async throws {
    let clock = ManualClock()
    let control = TransferControl()
    control.takeBodies { _ in true }
    let gate = Gate()
    try await withServer(configuration: .testing(clock: clock)) { connection in
      _ = connection.readRequest()
      connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n")
      gate.waitOnThread()
      connection.send("1\r\ny\r\n")
      _ = connection.readRequest()
    } _: { server, transport in
      let task = Task {
        try await transport.failure(
          server.url(),
          options: .testing {
            $0.deadline = Deadline(in: .seconds(5), on: clock)
            $0.streaming = StreamBounds(silence: .seconds(5))
            $0.control = control
          })
      }
      #expect(await control.piece() == Array("x".utf8))
      clock.advance(by: .seconds(4))
      gate.open()
      #expect(await control.piece() == Array("y".utf8))
      clock.advance(by: .seconds(4))
      #expect(control.progress.received == 2)
      clock.advance(by: .seconds(2))
      let error = try await task.value
      #expect(error?.code == .timedOut && error?.outcome == .replied)
      #expect(error?.detail == "nothing more of the body came in time")
    }
  }
}

extension TransferControl {
  /// The next part, which is a piece, or nil.
  func piece() async -> [UInt8]? {
    guard case .piece(let piece) = await next() else { return nil }
    return piece
  }
}

/// Waits for something that has no signal of its own, until the suite's time limit cancels the test.
func until(_ condition: () -> Bool) async {
  while !condition() && !Task.isCancelled { try? await Task.sleep(for: .milliseconds(1)) }
}
