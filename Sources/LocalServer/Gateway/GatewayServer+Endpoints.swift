import Glibc
import PosternRuntime
import PosternSupport

/// A further socket. Its requests are the maker's, whichever process connects to it.
package struct GatewayEndpoint: Sendable {
  /// For a request that is under way at its end.
  static let ended = RequestRejection("the endpoint has ended", status: 403, .peerForbidden, isUnderWay: true)
  /// For a process that it is not for.
  static let otherProcess = RequestRejection(
    "the endpoint is for another process", status: 403, .peerForbidden)

  /// Unique among the sockets of the server.
  package let id: String
  /// The user and process that its requests are of; its connections count against the uid.
  package let maker: PeerCredentials
  /// Answers its requests.
  package let responder: any GatewayResponder
  /// Whether that process may connect; the connections of others end without a response.
  package let accepts: @Sendable (PeerCredentials) -> Bool

  package init(
    id: String, maker: PeerCredentials, responder: some GatewayResponder,
    accepts: @escaping @Sendable (PeerCredentials) -> Bool = { _ in true }
  ) {
    self.id = id
    self.maker = maker
    self.responder = responder
    self.accepts = accepts
  }
}

extension GatewayServer {
  /// A further socket that is listened on.
  struct EndpointListener {
    private(set) var file: SocketFile?
    var listener: Listener?
    var connections: Set<UInt64> = []

    init(file: SocketFile?) { self.file = file }

    /// The socket is no longer there.
    mutating func forgetSocket() { (file, listener) = (nil, nil) }
  }

  /// Serves `endpoint` on `socket` too, which the server owns from now on: until `stopListening`, or until it drains.
  package func listen(on socket: ListeningSocket, for endpoint: GatewayEndpoint) async throws(SocketServerError) {
    let isNew = state.withLock { state in
      guard !state.isDraining, state.endpoints[endpoint.id] == nil else { return false }
      state.endpoints[endpoint.id] = EndpointListener(file: socket.file)
      return true
    }
    guard isNew else {
      socket.file?.remove()
      close(socket.descriptor)
      throw .eventLoop(reason: "the gateway drains, or has the endpoint already")
    }
    let listener: Listener
    do throws(EpollError) {
      listener = try await serve(socket.descriptor, .endpoint(endpoint))
    } catch {
      state.withLock { $0.endpoints[endpoint.id] = nil }
      socket.file?.remove()
      close(socket.descriptor)
      throw .eventLoop(reason: "\(error)")
    }
    // It may have ended meanwhile.
    let isThere = state.withLock { state in
      guard !state.isDraining, state.endpoints[endpoint.id] != nil else { return false }
      state.endpoints[endpoint.id]?.listener = listener
      return true
    }
    guard isThere else {
      await listener.stopAccepting()
      throw .eventLoop(reason: "the endpoint has ended")
    }
  }

  /// Takes connections of the endpoint that another server has accepted, until `stopListening`.
  package func expect(_ endpoint: GatewayEndpoint) {
    state.withLock { state in
      if state.endpoints[endpoint.id] == nil { state.endpoints[endpoint.id] = EndpointListener(file: nil) }
    }
  }

  /// Takes the endpoint's socket away and ends its connections: a request without a response gets a 403, a response
  /// that has begun breaks off. What is done for them is cancelled.
  package func stopListening(_ id: String) {
    let (listener, connections) = state.withLock { state in
      let listener = state.endpoints.removeValue(forKey: id)
      return (listener, listener?.connections.compactMap { state.open[$0] } ?? [])
    }
    guard let listener else { return }
    for connection in connections { connection.perform { $0.cutOff(GatewayEndpoint.ended) } }
    if let accepting = listener.listener { loops[0].loop.execute { accepting.stop() } }
    listener.file?.remove()
  }

  /// How many connections the endpoint has.
  package func connectionCount(of id: String) -> Int { state.withLock { $0.endpoints[id]?.connections.count ?? 0 } }
}

extension GatewayServer.Origin {
  /// The endpoint, if it is one.
  var endpoint: GatewayEndpoint? { if case .endpoint(let endpoint) = self { endpoint } else { nil } }
}

extension GatewayServer.State {
  /// How many connections the endpoint has, where it is one.
  func endpointCount(_ origin: GatewayServer.Origin) -> Int? {
    origin.endpoint.map { endpoints[$0.id]?.connections.count ?? 0 }
  }

  /// Notes a new connection; false: its endpoint has ended meanwhile.
  mutating func add(_ connection: HTTPConnection, from origin: GatewayServer.Origin) -> Bool {
    let id = connection.link.id
    if let endpoint = origin.endpoint, endpoints[endpoint.id]?.connections.insert(id) == nil { return false }
    if case .loopback = origin { keyless.append(id, on: connection.socket.loop) }
    open[id] = connection
    return true
  }

  /// A connection is over.
  mutating func remove(_ id: UInt64, from origin: GatewayServer.Origin) {
    open[id] = nil
    _ = keyless.remove(id)
    if let endpoint = origin.endpoint { endpoints[endpoint.id]?.connections.remove(id) }
  }

  /// Returns the listeners of all endpoints, which end; their connections go on.
  mutating func takeListeners() -> [GatewayServer.EndpointListener] {
    let listeners = Array(endpoints.values)
    for id in endpoints.keys { endpoints[id]?.forgetSocket() }
    return listeners
  }
}
