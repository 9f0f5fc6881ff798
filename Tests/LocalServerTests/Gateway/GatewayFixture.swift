import Glibc
import HTTPMessages
import PosternSupport

@testable import LocalServer

/// A responder that is one closure.
struct Responder: GatewayResponder {
  let body: @Sendable (GatewayRequest, any GatewayResponse) async throws(GatewayClientGone) -> Void

  func respond(to request: GatewayRequest, with response: any GatewayResponse) async {
    try? await body(request, response)
  }

  /// Returns what it gets.
  static let echo = Responder { request, response async throws(GatewayClientGone) in
    var bytes = Array("\(request.method) \(request.path) ".utf8)
    while case .bytes(let more) = await request.body.next() { bytes += more }
    try await response.begin(status: 200, fields: [:], length: Int64(bytes.count))
    try await response.write(bytes)
    try await response.end()
  }
}

/// A responder that answers without tasks: each path at once, but `/later`, which waits until its client has gone.
final class TasklessResponder: GatewayResponder {
  /// How many answers were cancelled, how many ended, and how many are in memory.
  let counts = Locked((cancelled: 0, ended: 0, kept: 0))

  private final class Answer: BegunResponse {
    private let counts: Locked<(cancelled: Int, ended: Int, kept: Int)>
    let body: @Sendable (@escaping @Sendable () -> Void) -> Void
    let onCancel: @Sendable () -> Void

    init(
      _ counts: Locked<(cancelled: Int, ended: Int, kept: Int)>, onCancel: @escaping @Sendable () -> Void,
      _ body: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
    ) {
      self.counts = counts
      counts.withLock { $0.kept += 1 }
      self.body = body
      self.onCancel = onCancel
    }

    deinit { counts.withLock { $0.kept -= 1 } }

    func run(whenEnded: @escaping @Sendable () -> Void) { body(whenEnded) }
    func cancel() { onCancel() }
  }

  func begin(_ request: GatewayRequest, _ response: any GatewayResponse) -> (any BegunResponse)? {
    guard request.path != "/task" else { return nil }
    let counts = counts
    let later = Locked<(@Sendable () -> Void)?>(nil)
    return Answer(
      counts,
      onCancel: {
        counts.withLock { $0.cancelled += 1 }
        later.withLock { $0.take() }?()
      }
    ) { whenEnded in
      let end: @Sendable () -> Void = {
        counts.withLock { $0.ended += 1 }
        whenEnded()
      }
      guard request.path != "/later" else { return later.withLock { $0 = end } }
      let body = Array(request.path.utf8)
      response.answer(status: 200, fields: [:], length: Int64(body.count), body: body, whenTaken: end)
    }
  }

  func respond(to request: GatewayRequest, with response: any GatewayResponse) async {
    await response.answer(status: 200, fields: [:], body: Array("in a task".utf8))
  }
}

/// A server on a socket in a directory of its own, and its clients.
final class Fixture: Sendable {
  let server: GatewayServer
  let path: String

  init(
    _ responder: any GatewayResponder = Responder.echo, address: String? = nil,
    change: (inout GatewayServer.Configuration) -> Void = { _ in }
  ) async throws {
    path = "/tmp/gateway-\(getpid())-\(UInt64.random(in: 0 ... .max)).sock"
    var configuration = GatewayServer.Configuration()
    change(&configuration)
    let sockets = try GatewaySockets(unix: .path(path, mode: 0o600), lock: nil, address: address)
    server = try await GatewayServer.start(sockets, configuration, responder: responder)
  }

  func connect() throws -> Client { try Client(path: path) }

  /// Listens for an endpoint, whose requests are of `uid`, and returns the path of its socket.
  func listen(
    _ id: String, _ responder: Responder, of uid: UInt32 = 4321,
    accepts: @escaping @Sendable (PeerCredentials) -> Bool = { _ in true }
  ) async throws -> String {
    let path = "\(path).e-\(id)"
    let endpoint = GatewayEndpoint(
      id: id, maker: PeerCredentials(uid: uid, gid: 5, pid: 7, groups: [6]), responder: responder, accepts: accepts)
    try await server.listen(on: ListeningSocket(.path(path, mode: 0o600, group: nil)), for: endpoint)
    return path
  }
}

/// A client with blocking calls.
final class Client: Sendable {
  let descriptor: Int32

  init(path: String) throws {
    descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    try connect(&address)
  }

  init(port: Int) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    try connect(&address)
  }

  private func connect<Address>(_ address: inout Address) throws {
    let size = socklen_t(MemoryLayout<Address>.size)
    let isConnected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(descriptor, $0, size) == 0 }
    }
    guard isConnected else { throw GatewayClientGone() }
    var patience = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { close(descriptor) }

  func send(_ text: String) { send(Array(text.utf8)) }

  func send(_ bytes: [UInt8]) {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return }
      sent += count
    }
  }

  /// Reads until the text ends with `end`, or the connection does.
  func receive(until end: String? = nil) -> String {
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = recv(descriptor, &piece, piece.count, 0)
      guard count > 0 else { break }
      bytes += piece.prefix(count)
      if let end, bytes.reversed().starts(with: end.utf8.reversed()) { break }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
