import CurlTransport
import HTTPMessages
import PosternSupport
import Testing

@Suite("Connections", .timeLimit(.minutes(3)))
struct ConnectionTests {
  @Test("one exchange after the other needs one connection, whatever method and status")
  func kept() async throws {
    try await withServer {
      $0.serve { ok($0.target) }
    } _: { server, transport in
      for index in 0..<10 {
        let response = try await transport.send(
          index % 2 == 0 ? "GET" : "POST", server.url("/\(index)"), body: index % 2 == 0 ? nil : [1, 2, 3])
        #expect(response.text == "/\(index)")
      }
      #expect(server.accepted == 1)
      let statistics = transport.statistics()
      #expect(statistics.connectionsOpened == 1 && statistics.connectionsReused == 9 && statistics.connectionsOpen == 1)
      #expect(statistics.exchangesStarted == 10 && statistics.responses == 10 && statistics.failures == 0)
      #expect(statistics.bodyBytesSent == 15 && statistics.bodyBytesReceived == 20)
    }
  }

  @Test("a server that closes gets a new connection for the next exchange", arguments: ["Connection: close\r\n", ""])
  func closedByServer(field: String) async throws {
    try await withServer { connection in
      guard connection.readRequest() != nil else { return }
      connection.send(ok("x", fields: field))
    } _: { server, transport in
      for _ in 0..<5 {
        let response = try await transport.send("POST", server.url(), body: [1])
        #expect(response.text == "x")
        await until { server.open == 0 }
      }
      #expect(server.requests.count == 5)
      #expect(server.accepted == 5)
    }
  }

  @Test("bytes that were not requested do not become the next response")
  func excess() async throws {
    try await withServer { connection in
      while let request = connection.readRequest() { connection.send(ok(request.target) + ok("poison")) }
    } _: { server, transport in
      for index in 0..<4 {
        let response = try await transport.send(server.url("/\(index)"))
        #expect(response.text == "/\(index)")
      }
    }
  }

  @Test(
    "a kept connection that dies without a reply: an idempotent request is retried, if its caller does not count attempts",
    arguments: [
      ("GET", false, true), ("HEAD", false, true), ("PUT", false, true), ("DELETE", false, true),
      ("OPTIONS", false, true), ("POST", false, false), ("PATCH", false, false), ("REPORT", false, false),
      ("GET", true, false),
    ])
  func lostReply(method: String, isSentOnce: Bool, isRetried: Bool) async throws {
    try await withServer { connection in
      guard connection.readRequest() != nil else { return }
      connection.send(ok(connection.index == 0 ? "" : ""))
      guard connection.index == 0 else { return connection.serve { _ in ok() } }
      // The first connection takes its second request and dies with it.
      _ = connection.readRequest()
    } _: { server, transport in
      _ = try await transport.send(server.url("/first"))
      var request = HTTPRequest(
        method: method, url: try HTTPURL(server.url("/second")), body: method == "POST" ? [1, 2, 3] : nil)
      request.isSentOnce = isSentOnce
      let error: TransportError?
      do throws(TransportError) {
        _ = try await transport.send(request, options: .testing())
        error = nil
      } catch let failure {
        error = failure
      }
      let second = server.requests.filter { $0.target == "/second" }
      if isRetried {
        #expect(error == nil)
        #expect(second.count == 2)
      } else {
        #expect(error == TransportError(code: .serverUnreachable, outcome: .sentNoReply, detail: ""))
        #expect(second.count == 1)
      }
    }
  }

  @Test(
    "the bounds of connections hold, and everything that had to wait is carried out in the end",
    arguments: [true, false])
  func bounds(perHost: Bool) async throws {
    let busiest = Locked(0)
    let busy = Locked(0)
    let configuration = CurlTransport.Configuration.testing {
      if perHost { $0.maxConnectionsPerHost = 3 } else { $0.maxConnections = 3 }
    }
    try await withServer(configuration: configuration) { connection in
      connection.serve { request in
        let now = busy.withLock { busy in
          busy += 1
          return busy
        }
        busiest.withLock { $0 = max($0, now) }
        defer { busy.withLock { $0 -= 1 } }
        // Some break off, so that connections come and go.
        return request.target.hasSuffix("7") ? ok("x", fields: "Connection: close\r\n") : ok("x")
      }
    } _: { server, transport in
      let failures = await withTaskGroup(of: Int.self) { group in
        for index in 0..<120 {
          group.addTask { (try? await transport.send(server.url("/\(index)")))?.text == "x" ? 0 : 1 }
        }
        return await group.reduce(0, +)
      }
      #expect(failures == 0)
      #expect(busiest.withLock { $0 } <= 3)
      #expect(server.accepted >= 3)
    }
  }

  @Test("a slow server with a long queue does not delay another")
  func slowNeighbour() async throws {
    let mayAnswer = Gate()
    let slow = try RawServer { connection in
      connection.serve { _ in
        mayAnswer.waitOnThread()
        return ok()
      }
    }
    defer { slow.stop() }
    try await withServer(configuration: .testing { $0.maxConnectionsPerHost = 2 }) {
      $0.serve { _ in ok("quick") }
    } _: { server, transport in
      let slowTasks = (0..<50).map { _ in Task { try await transport.send(slow.url()) } }
      await until { transport.statistics().exchangesQueued == 48 }
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<20 {
          group.addTask {
            let response = try? await transport.send(server.url())
            #expect(response?.text == "quick")
          }
        }
      }
      mayAnswer.open()
      for task in slowTasks { _ = try await task.value }
      #expect(slow.accepted == 2)
    }
  }

  @Test("two hundred exchanges at once all get their own answer")
  func manyAtOnce() async throws {
    try await withServer {
      $0.serve { ok($0.target + String(repeating: ".", count: 2000)) }
    } _: { server, transport in
      let wrong = await withTaskGroup(of: Int.self) { group in
        for index in 0..<200 {
          group.addTask {
            for round in 0..<5 {
              let response = try? await transport.send(server.url("/\(index)/\(round)"))
              guard response?.text.hasPrefix("/\(index)/\(round).") == true, response?.body.count ?? 0 > 2000 else {
                return 1
              }
            }
            return 0
          }
        }
        return await group.reduce(0, +)
      }
      #expect(wrong == 0)
      #expect(transport.statistics().responses == 1000)
      #expect(transport.statistics().connectionsOpen <= 64)
    }
  }

  @Test("a connection that is too old to be trusted is not taken up again", arguments: [true, false])
  func age(idle: Bool) async throws {
    let configuration = CurlTransport.Configuration.testing {
      if idle { $0.idleLifetime = .seconds(1) } else { $0.connectionLifetime = .seconds(1) }
    }
    try await withServer(configuration: configuration) {
      $0.serve { _ in ok() }
    } _: { server, transport in
      _ = try await transport.send(server.url())
      // libcurl reads its own clock, in whole seconds: there is no other way than to wait.
      try await Task.sleep(for: .milliseconds(2100))
      _ = try await transport.send(server.url())
      #expect(server.accepted == 2)
    }
  }
}
