import CPosternLinux
import Glibc
import PosternRuntime
package import PosternSupport

/// A further way into a running server. Its connections are its maker's, whatever process connects.
package struct SocketEndpoint: Sendable {
  /// Unique among those of the server.
  package let id: String
  /// Its connections are of this peer, and count against its uid.
  package let maker: PeerCredentials
  /// Whether that process may connect; the connections of others are closed without an answer.
  package let accepts: @Sendable (PeerCredentials) -> Bool
  /// Makes the delegate of a connection.
  package let delegate: @Sendable (Connection) -> any ConnectionDelegate
  /// The endpoint as its HTTP connections see it; nil: HTTP is not spoken at it.
  package let http: GatewayEndpoint?

  package init(
    id: String, maker: PeerCredentials, accepts: @escaping @Sendable (PeerCredentials) -> Bool = { _ in true },
    http: GatewayEndpoint? = nil,
    delegate: @escaping @Sendable (Connection) -> any ConnectionDelegate
  ) {
    self.id = id
    self.maker = maker
    self.accepts = accepts
    self.delegate = delegate
    self.http = http
  }
}

extension SocketServer {
  /// The open parts of an endpoint.
  struct EndpointListener {
    var file: SocketFile?
    var listener: Listener?
    var process: ProcessWatch?
  }

  /// The endpoints of a server by their ids.
  struct EndpointListeners {
    var open: [String: EndpointListener] = [:]
    /// The server listens no more, nor will any endpoint.
    var hasStopped = false
  }

  /// Serves `endpoint` until `stopListening`, or until the server stops listening: on `socket`, which the server owns
  /// from now on, where there is one. `process`: its end is reported, on an event loop.
  package func serve(
    _ endpoint: SocketEndpoint, on socket: ListeningSocket?, until process: PeerProcess? = nil,
    onEnd: @escaping @Sendable () -> Void = {}
  ) async throws(SocketServerError) {
    let isNew = endpoints.withLock { endpoints in
      guard !endpoints.hasStopped, endpoints.open[endpoint.id] == nil else { return false }
      endpoints.open[endpoint.id] = EndpointListener(file: socket?.file)
      registry.begin(endpoint.id)
      return true
    }
    guard isNew else {
      socket?.discard()
      throw .eventLoop(reason: "the server stops, or has the endpoint already")
    }
    var open = EndpointListener(file: socket?.file)
    do throws(EpollError) {
      if let process { open.process = try await watch(process, onEnd) }
      if let socket { open.listener = try await Self.listen(socket.descriptor, loops, registry, for: endpoint) }
    } catch {
      if open.listener == nil, let socket { close(socket.descriptor) }
      stop(open)
      stopListening(endpoint.id)
      throw .eventLoop(reason: "\(error)")
    }
    let isWanted = endpoints.withLock { endpoints in
      guard endpoints.open[endpoint.id] != nil else { return false }
      endpoints.open[endpoint.id] = open
      return true
    }
    // It has ended meanwhile.
    guard isWanted else {
      stop(open)
      throw .eventLoop(reason: "the endpoint has ended")
    }
  }

  /// Makes a connection of an endpoint that is being served, and returns its other end.
  package func connect(to endpoint: SocketEndpoint) async throws(SocketServerError) -> PassedDescriptor {
    // Its maker does not take those that it has.
    guard !registry.sent.isFull(for: endpoint.maker.uid) else {
      throw .system(call: "sendmsg", errno: ETOOMANYREFS)
    }
    var ends: [CInt] = [-1, -1]
    let failed = clinux_socket_pair(&ends)
    guard failed == 0 else { throw .system(call: "socketpair", errno: failed) }
    let (own, other) = (ends[0], ends[1])
    let passed = withUnsafePointer(to: other) {
      registry.passed.take(UnsafeBufferPointer(start: $0, count: 1), of: endpoint.maker.uid)
    }
    guard let descriptor = passed?.first else {
      close(own)
      throw .system(call: "socketpair", errno: EMFILE)
    }
    let loop = loops[Int.random(in: 0..<loops.count)]
    let isOpen = await withCheckedContinuation { continuation in
      let isRunning = loop.loop.execute { [registry] in
        continuation.resume(returning: registry.admit(own, on: loop, at: endpoint, isOwn: true))
      }
      guard !isRunning else { return }
      close(own)
      continuation.resume(returning: false)
    }
    guard isOpen else { throw .system(call: "connect", errno: EAGAIN) }
    return descriptor
  }

  /// Listens for the endpoint no more, takes its socket file away and accepts no more of its connections; those that
  /// are open go on.
  package func stopListening(_ id: String) {
    let listener = endpoints.withLock { endpoints in
      registry.end(id)
      return endpoints.open.removeValue(forKey: id)
    }
    if let listener { stop(listener) }
  }

  /// The same for all endpoints, and those that are still to come.
  func stopEndpoints() {
    let listeners = endpoints.withLock { endpoints in
      endpoints.hasStopped = true
      for id in endpoints.open.keys { registry.end(id) }
      defer { endpoints.open = [:] }
      return Array(endpoints.open.values)
    }
    for listener in listeners { stop(listener) }
  }

  private func stop(_ endpoint: EndpointListener) {
    endpoint.file?.remove()
    loops[0].loop.execute {
      endpoint.listener?.stop()
      endpoint.process?.stop()
    }
  }

  private func watch(
    _ process: PeerProcess, _ onEnd: @escaping @Sendable () -> Void
  ) async throws(EpollError) -> ProcessWatch {
    let loop = loops[0].loop
    let result = await withCheckedContinuation { continuation in
      let isRunning = loop.execute {
        continuation.resume(
          returning: Result { () throws(EpollError) in try ProcessWatch(process, on: loop, onEnd: onEnd) })
      }
      if !isRunning { continuation.resume(returning: .failure(Self.loopHasEnded)) }
    }
    return try result.get()
  }
}

/// Reports the end of a process, once.
final class ProcessWatch: ReadinessHandler, @unchecked Sendable {
  // Sendable because its variables are touched on the loop only.

  private let process: PeerProcess
  private let loop: EpollLoop
  private let onEnd: @Sendable () -> Void
  private var isWatching = true

  init(_ process: PeerProcess, on loop: EpollLoop, onEnd: @escaping @Sendable () -> Void) throws(EpollError) {
    self.process = process
    self.loop = loop
    self.onEnd = onEnd
    try loop.watch(process.descriptor, for: .readable, self)
  }

  func ready(_ readiness: Readiness) {
    guard isWatching else { return }
    stop()
    onEnd()
  }

  /// Reports nothing any more; on the loop.
  func stop() {
    guard isWatching else { return }
    isWatching = false
    loop.unwatch(process.descriptor)
  }
}
