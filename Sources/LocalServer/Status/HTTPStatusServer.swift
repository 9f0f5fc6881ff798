import Glibc
import HTTPMessages
import PosternRuntime
import PosternSupport

/// Serves a few paths over plain HTTP, usually on a loopback address, for probes and for scrapers of metrics.
///
/// `GET` and `HEAD` only, no bodies, few connections, a thread of its own: nothing here can delay the socket's callers.
/// When there are too many connections, the one that has been without a request for longest is closed, so that clients
/// that keep connections open do not exclude others.
public final class HTTPStatusServer: Sendable {
  /// The response to a path; nil: there is none (404).
  public typealias Pages = @Sendable (_ path: String) async -> StatusPage?

  /// Why it cannot listen.
  public struct Failure: Error, Sendable, CustomStringConvertible {
    /// For people.
    public let description: String
    /// Whether another process listens on the address.
    public let isInUse: Bool

    init(description: String, isInUse: Bool = false) {
      self.description = description
      self.isInUse = isInUse
    }
  }

  /// Where it listens.
  public let port: Int

  let held = Locked(SharedBudget(capacity: Limits.heldBytes, capacityPerUID: Limits.heldBytes))
  private let loop: ServingLoop
  private let responder: StatusResponder
  private let connections = ConnectionLimiter(limit: Limits.connections)
  private let passed = PassedDescriptors(limit: Limits.connections)
  private let state = Locked(State())

  private struct State {
    var lastID: UInt64 = 0
    var listener: Listener?
    var closing: Task<Void, Never>?
  }

  private init(_ loop: ServingLoop, port: Int, _ pages: @escaping Pages) {
    self.loop = loop
    self.port = port
    responder = StatusResponder(pages: pages)
  }

  /// Listens on `address`, `host:port` with a literal address, of loopback unless `beyondLoopback`, or `localhost`
  /// (127.0.0.1); port 0 takes a free one.
  public static func start(
    on address: String, beyondLoopback: Bool = false, pages: @escaping Pages
  ) async throws(Failure) -> HTTPStatusServer {
    guard let listenAddress = ListenAddress(address, beyondLoopback: beyondLoopback) else {
      throw Failure(description: "\(address) is no loopback address")
    }
    let (descriptor, port): (CInt, Int)
    do throws(SocketServerError) {
      (descriptor, port) = try InternetSocket.listen(on: listenAddress, backlog: Limits.backlog)
    } catch {
      var isInUse = false
      if case .system(_, EADDRINUSE) = error { isInUse = true }
      throw Failure(description: "cannot listen on \(address): \(error)", isInUse: isInUse)
    }
    do throws(EpollError) {
      let loops = try ServingLoop.start(1)
      let server = HTTPStatusServer(loops[0], port: port, pages)
      do throws(EpollError) {
        let listener = try await Listener.start(descriptor, on: loops) { descriptor, _ in server.admit(descriptor) }
        server.state.withLock { $0.listener = listener }
        return server
      } catch {
        ServingLoop.end(loops)
        throw error
      }
    } catch {
      Glibc.close(descriptor)
      throw Failure(description: "cannot listen on \(address): \(error)")
    }
  }

  /// Sets up a new connection, on the event loop.
  private func admit(_ descriptor: CInt) {
    InternetSocket.sendAtOnce(descriptor)
    let id = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    let link = HTTPConnection.Link(
      id: id, caller: .loopback, responder: responder, hidesItsEnd: false, isOfProcess: false)
    let reader = SocketReader(passed: passed, uid: Self.uid)
    let connection = HTTPConnection(link, of: Self.uid, self, descriptor, on: loop, reader) { [connections] in
      connections.remove(id)
    }
    connections.add(connection)
    do throws(EpollError) {
      try connection.start()
    } catch {
      // No memory to watch it.
      connections.remove(id)
      reader.close(descriptor) {}
    }
  }

  /// All programs are counted as one user, with a number that no user has.
  private static let uid = UInt32.max

  /// Stops listening and closes all connections. Further calls wait for the same.
  public func close() async {
    let task = state.withLock { state in
      if let closing = state.closing { return closing }
      let listener = state.listener
      let task = Task { [self] in
        await listener?.stopAccepting()
        for connection in connections.all { connection.perform { $0.leave() } }
        await loop.settle()
        ServingLoop.end([loop])
      }
      state.closing = task
      return task
    }
    await task.value
  }
}

extension HTTPStatusServer {
  /// The bounds of what clients may use.
  enum Limits {
    /// The most connections at one time; beyond them the one that has waited for longest is closed.
    static let connections = 64
    /// Connections that may wait to be accepted; the kernel caps it at `net.core.somaxconn`. A client that meets a full
    /// backlog tries again after a second.
    static let backlog: CInt = 4096
    /// How long a whole request may take to come, and its answer to be taken.
    static let patience = Duration.seconds(30)
    /// Bytes of requests and responses in memory: beyond them a connection has one piece in each direction.
    static let heldBytes = 16 << 20

    /// The sizes of a request's parts.
    static var request: RequestGuard.Limits {
      var limits = RequestGuard.Limits()
      limits.field = 8 << 10
      limits.section = 16 << 10
      limits.fields = 64
      limits.replacesHost = true
      return limits
    }
  }
}

extension HTTPStatusServer: HTTPServer {
  var requestLimits: RequestGuard.Limits { Limits.request }
  var isDraining: Bool { false }

  var timeouts: HTTPTimeouts {
    var timeouts = HTTPTimeouts()
    (timeouts.head, timeouts.idle, timeouts.stall) = (Limits.patience, Limits.patience, Limits.patience)
    return timeouts
  }

  /// No path takes a body: it is rejected unread.
  func fields(of head: RequestHead, on connection: HTTPConnection) throws(RequestRejection) -> HTTPFields {
    guard head.framing == .none else { throw .tooLarge("no body is expected", status: 413) }
    return head.fields
  }

  func report(
    _ rejection: RequestRejection, of caller: GatewayRequest.Program, traceparent: String?
  ) -> String { "" }

  func response(to rejection: RequestRejection, isToHead: Bool, traceID: String) -> [UInt8] {
    let page =
      rejection.status == 413 ? StatusPage.text(413, rejection.detail) : .text(400, "malformed HTTP request")
    var framing = ResponseFraming(method: isToHead ? "HEAD" : "GET", minorVersion: 1, closes: true)
    guard let head = try? framing.begin(status: page.status, fields: page.fields, length: Int64(page.body.count)) else {
      return []
    }
    return isToHead ? head : head + page.body
  }

  func responderStarts(on connection: HTTPConnection) { connections.setBusy(true, connection) }

  func responderEnds(on connection: HTTPConnection) { connections.setBusy(false, connection) }
}

/// The response to one path, as of now.
public struct StatusPage: Sendable, Hashable {
  /// The HTTP status.
  public var status: Int
  /// The value of `Content-Type`.
  public var contentType: String
  /// The body.
  public var body: [UInt8]

  /// An answer of these parts.
  public init(status: Int = 200, contentType: String, body: [UInt8]) {
    self.status = status
    self.contentType = contentType
    self.body = body
  }

  /// A short text.
  static func text(_ status: Int, _ text: String) -> StatusPage {
    StatusPage(status: status, contentType: "text/plain; charset=utf-8", body: Array("\(text)\n".utf8))
  }

  /// The fields of its response.
  var fields: HTTPFields {
    var fields: HTTPFields = [
      "Content-Type": contentType, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
    ]
    if status == 405 { fields.append("Allow", "GET, HEAD") }
    return fields
  }
}
