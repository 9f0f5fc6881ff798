import Glibc
import PosternSupport

@testable import LocalServer

/// A server whose delegates echo, do what a few known texts ask, and write down what happens.
struct EchoServer: Sendable {
  let server: SocketServer
  let path: String
  let log: EventLog
  let connections: Locked<[Connection]>
  private let clients = Locked<[UnixClient]>([])
  private let directory: TemporaryDirectory

  private init(
    server: SocketServer, path: String, log: EventLog, connections: Locked<[Connection]>, directory: TemporaryDirectory
  ) {
    self.server = server
    self.path = path
    self.log = log
    self.connections = connections
    self.directory = directory
  }

  /// Starts a server, runs `body`, shuts the server down whatever happens.
  static func run(
    _ change: (inout SocketServer.Configuration) -> Void = { _ in }, _ body: (EchoServer) async throws -> Void
  ) async throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("s")
    var configuration = SocketServer.Configuration(endpoint: .path(path))
    // Longer than the machine pauses: a client that is about to send must not find the socket closed.
    configuration.timeouts.linger = .seconds(10)
    configuration.rejection = { reason, _ in Array("\"rejected \(reason)\"".utf8) }
    change(&configuration)
    let log = EventLog()
    let connections = Locked<[Connection]>([])
    let server = try await SocketServer.start(configuration) { connection in
      connections.withLock { $0.append(connection) }
      return EchoDelegate(log: log)
    }
    let echo = EchoServer(server: server, path: path, log: log, connections: connections, directory: directory)
    do {
      try await body(echo)
    } catch {
      await server.shutdown()
      throw error
    }
    await server.shutdown()
  }

  /// A new client, kept open until the test ends: its last use is not the end of its connection.
  func client() throws -> UnixClient {
    let client = try UnixClient(path)
    clients.withLock { $0.append(client) }
    return client
  }

  /// The server's end of the client that connected as number `index`, counted from 0.
  func connection(_ index: Int = 0) -> Connection { connections.withLock { $0[index] } }
}

/// Echoes; `{"bytes":N}` is answered with a string of N bytes, the other orders are at `received`.
final class EchoDelegate: ConnectionDelegate {
  private let log: EventLog

  init(log: EventLog) { self.log = log }

  func received(_ events: [InboundEvent], on connection: Connection) {
    if events.count > InboundDelivery.eventsPerCall { log.add("too many events") }
    for event in events {
      switch event {
      case .text(let message, _): answer(String(decoding: message.bytes, as: UTF8.self), on: connection)
      case .malformed(let reason, let sharesLine):
        connection.send(Array("{\"malformed\":\"\(reason)\",\"sharesLine\":\(sharesLine)}".utf8))
      case .oversized(let limit, _): connection.send(Array("{\"oversized\":\(limit)}".utf8))
      case .tooComplex(let limit, _): connection.send(Array("{\"tooComplex\":\(limit)}".utf8))
      case .crowded(let limit):
        connection.send(Array("{\"crowded\":\(limit)}".utf8))
        connection.closeAfterFlush()
      case .violation(let reason):
        connection.send(Array("{\"violation\":\"\(reason)\"}".utf8))
        connection.closeAfterFlush()
      }
    }
  }

  private func answer(_ text: String, on connection: Connection) {
    switch text {
    case _ where text.hasPrefix("{\"bytes\":"):
      let count = Int(text.dropFirst(9).dropLast()) ?? 0
      connection.send([UInt8](repeating: UInt8(ascii: "x"), count: count))
    case "[\"tasks\"]":
      // Four tasks send from wherever they run.
      for task in 0..<4 {
        Task { for number in 0..<250 { connection.send(Array("[\(task),\(number)]".utf8)) } }
      }
    case "[\"on the loop\"]":
      Task(executorPreference: connection.taskExecutor) { [log] in
        log.add("on the loop")
        connection.send(Array("[\(connection.isOnEventLoop)]".utf8))
      }
    case "[\"limited\"]":
      Task { [log] in
        let chunk = [UInt8](repeating: UInt8(ascii: "y"), count: 1 << 16)
        var most = 0
        for _ in 0..<256 where await connection.writable() {
          connection.send(chunk)
          most = max(most, connection.pendingWriteBytes)
        }
        log.add("limited at most \(most)")
      }
    case "[\"close\"]": connection.close()
    case "[\"spin\"]":
      let end = ContinuousClock.now.advanced(by: .milliseconds(1))
      while ContinuousClock.now < end {}
      log.add("spun")
      connection.send(Array(text.utf8))
    case "[\"note\"]": log.add("note")
    case "[\"pause\"]":
      connection.pause()
      log.add("paused")
    case _ where text.hasPrefix("[\"long"):
      // Handled elsewhere: until the test calls `resume`.
      connection.pause()
      log.add("long")
    case "[\"hold\"]":
      // Blocks the event loop until the test lets it continue.
      log.add("blocked")
      let end = ContinuousClock.now.advanced(by: .seconds(20))
      while !log.lines.contains("go on"), ContinuousClock.now < end { usleep(500) }
    default: connection.send(Array(text.utf8))
    }
  }

  func inputEnded(on connection: Connection) {
    log.add("inputEnded \(connection.id)")
    connection.closeAfterFlush()
  }

  func writabilityChanged(on connection: Connection) { log.add("writable \(connection.isWritable)") }

  func closed(_ connection: Connection, reason: CloseReason) { log.add("closed \(connection.id) \(reason)") }
}
