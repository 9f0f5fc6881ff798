import Glibc
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

@testable import LocalServer

@Suite("The gateway's further sockets", .timeLimit(.minutes(2)))
struct EndpointListenerTests {
  private static let get = "GET /a HTTP/1.1\r\nHost: postern\r\n\r\n"

  // Catches an endpoint's request that is the connecting process's, or another endpoint's; a socket that stays longer
  // than its endpoint; and a response that goes on, or looks whole, once the endpoint has ended.
  @Test("An endpoint's requests are its maker's, and end with it", arguments: ["idle", "waiting", "sending"])
  func endpoints(_ phase: String) async throws {
    let (isWaiting, isCancelled) = (Locked(false), Locked(false))
    let responder = Responder { request, response async throws(GatewayClientGone) in
      #expect(request.caller == .process(uid: 4321, gid: 5, groups: [6], pid: 7))
      guard request.path != "/a" else { return await Responder.echo.respond(to: request, with: response) }
      if phase == "sending" {
        try await response.begin(status: 200, fields: [:], length: nil)
        try await response.write(Array("begun".utf8))
      }
      await withTaskCancellationHandler {
        isWaiting.withLock { $0 = true }
        while !isCancelled.withLock({ $0 }) { await Task.yield() }
      } onCancel: {
        isCancelled.withLock { $0 = true }
      }
    }
    let fixture = try await Fixture()
    let path = try await fixture.listen("one", responder)
    let other = try await fixture.listen("two", .echo)
    let client = try Client(path: path)
    client.send(Self.get)
    #expect(client.receive(until: "GET /a ").hasPrefix("HTTP/1.1 200 OK"))
    #expect(fixture.server.connectionCount(of: "one") == 1)
    if phase != "idle" { client.send("GET /b HTTP/1.1\r\nHost: postern\r\n\r\n") }
    if phase == "sending" { #expect(client.receive(until: "begun\r\n").hasPrefix("HTTP/1.1 200 OK")) }
    if phase == "waiting" { try #require(await eventually { isWaiting.withLock { $0 } }) }
    fixture.server.stopListening("one")
    let rest = client.receive()
    #expect(phase == "waiting" ? rest.hasPrefix("HTTP/1.1 403 Forbidden\r\n") : rest.isEmpty, "\(rest)")
    if phase != "idle" { #expect(await eventually { isCancelled.withLock { $0 } }) }
    #expect(access(path, F_OK) != 0)
    #expect(throws: GatewayClientGone.self) { try Client(path: path) }
    let second = try Client(path: other)
    second.send(Self.get)
    #expect(second.receive(until: "GET /a ").hasPrefix("HTTP/1.1 200 OK"))
    await fixture.server.shutdown()
    #expect(access(other, F_OK) != 0)
  }

  // Catches an endpoint for one process that another one uses, and one whose connections take all of its maker's.
  @Test("An endpoint has few connections, and only of processes that it is for")
  func endpointConnections() async throws {
    let isFor = Locked(false)
    let fixture = try await Fixture()
    let path = try await fixture.listen("one", .echo) { process in process.uid == getuid() && isFor.withLock { $0 } }
    let stranger = try Client(path: path)
    stranger.send(Self.get)
    #expect(stranger.receive().isEmpty)
    isFor.withLock { $0 = true }
    let clients = try (0..<ConnectionLimits.connectionsPerEndpoint).map { _ in try Client(path: path) }
    for client in clients { client.send(Self.get) }
    for client in clients { #expect(client.receive(until: "GET /a ").hasPrefix("HTTP/1.1 200 OK")) }
    #expect(try Client(path: path).receive().hasPrefix("HTTP/1.1 503 "))
    let main = try fixture.connect()
    main.send(Self.get)
    #expect(main.receive(until: "GET /a ").hasPrefix("HTTP/1.1 200 OK"))
    await fixture.server.drain()
    await #expect(throws: SocketServerError.self) { try await fixture.listen("two", .echo) }
    await fixture.server.shutdown()
  }
}
