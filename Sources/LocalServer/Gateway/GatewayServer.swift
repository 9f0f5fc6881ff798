import Glibc
import HTTPMessages
import PosternRuntime
package import PosternSupport

/// Serves HTTP/1.1 to programs on a Unix socket, a loopback address, or both; the responder decides what they get.
///
/// The event loops are its own: what happens here delays no caller of the other socket by more than the processors that
/// both use.
package final class GatewayServer: Sendable {
  /// The limits of what clients may use, and how long they may take.
  package struct Configuration: Sendable {
    /// The sizes of a request's parts.
    package var request = RequestGuard.Limits()
    /// How many connections may be open.
    package var connections = 1024
    /// How many of them may belong to one uid, or to all programs on the loopback address. Half of those may have shown
    /// no key yet.
    package var connectionsPerUid = 256
    /// Bytes of header sections, bodies and responses in memory, of all uids: none gets more than three times what is
    /// left. Beyond that a connection has one piece in each direction.
    var heldBytes = 64 << 20
    /// How many of them may be one uid's.
    package var heldBytesPerUid = 16 << 20
    package var timeouts = Timeouts()
    /// The threads that read and write.
    package var eventLoops = min(ServingLoop.processors, 2)
    /// The key that programs on the loopback address need, as it is now; nil: none of them is served.
    package var key: @Sendable () -> Secret<String>? = { nil }
    /// The field in which a program sends the key of the server behind a path, where the configuration names one: the
    /// key is accepted there as well.
    package var credentialField: @Sendable (_ path: String) -> String? = { _ in nil }
    /// Whether all requests of a process are rejected. Such uids have few connections, each and all together.
    package var isStranger: @Sendable (PeerCredentials) -> Bool = { _ in false }
    /// Gets what was rejected before the responder saw it, with the request's `traceparent` as far as it came; returns
    /// the id of its trace.
    package var onRejection: @Sendable (GatewayRequest.Program, RequestRejection, String?) -> String = { _, _, _ in "" }

    package init() {}
  }

  package typealias Timeouts = HTTPTimeouts

  struct State {
    var limits: ConnectionLimits
    var keyless: KeylessConnections
    /// Connections that have given their place to others and are not closed yet.
    var replaced: Set<UInt64> = []
    var open: [UInt64: HTTPConnection] = [:]
    var listeners: [Listener] = []
    var endpoints: [String: EndpointListener] = [:]
    var responders = 0
    var isDraining = false
    var hasStopped = false
  }

  /// A listening socket.
  enum Origin: Sendable {
    case file
    case loopback
    case endpoint(GatewayEndpoint)
  }

  /// Programs on the loopback address are counted as one user, with a number that no user has.
  static let loopbackUid = UInt32.max
  /// Until they have shown the key they are another one, which cannot delay them.
  static let keylessUid = UInt32.max - 1
  /// How long cancelled responders may take.
  private static let closingTime = Duration.seconds(5)

  /// The port of the loopback address; nil without one.
  package let port: Int?
  let configuration: Configuration
  let access: GatewayAccess
  let responder: any GatewayResponder
  private let file: SocketFile?
  let loops: [ServingLoop]
  /// The descriptors that programs have passed, which nothing here wants: each uid's are closed by a thread of its own.
  let passed: PassedDescriptors
  let state: Locked<State>
  /// The bytes that connections have in memory.
  let held: Locked<SharedBudget>

  private init(
    _ sockets: GatewaySockets, _ configuration: Configuration, _ loops: [ServingLoop],
    _ responder: any GatewayResponder
  ) {
    self.configuration = configuration
    self.responder = responder
    self.loops = loops
    access = GatewayAccess(key: configuration.key, credentialField: configuration.credentialField)
    port = sockets.loopback?.port
    file = sockets.unix?.file
    passed = PassedDescriptors(limit: configuration.connectionsPerUid)
    state = Locked(
      State(
        limits: ConnectionLimits(
          connections: configuration.connections, connectionsPerUid: configuration.connectionsPerUid),
        keyless: KeylessConnections(limit: max(1, configuration.connectionsPerUid / 2))))
    held = Locked(SharedBudget(capacity: configuration.heldBytes, capacityPerUID: configuration.heldBytesPerUid))
  }

  /// Serves the connections of `sockets`, which it owns from now on.
  package static func start(
    _ sockets: GatewaySockets, _ configuration: Configuration, responder: some GatewayResponder
  ) async throws(SocketServerError) -> GatewayServer {
    var waiting = [(sockets.unix?.descriptor, Origin.file), (sockets.loopback?.descriptor, Origin.loopback)]
    var server: GatewayServer?
    do throws(EpollError) {
      let started = GatewayServer(
        sockets, configuration, sockets.areNone ? [] : try ServingLoop.start(configuration.eventLoops), responder)
      server = started
      while let (descriptor, origin) = waiting.first {
        if let descriptor {
          let listener = try await started.serve(descriptor, origin)
          started.state.withLock { $0.listeners.append(listener) }
        }
        waiting.removeFirst()
      }
      return started
    } catch {
      for (descriptor, _) in waiting { if let descriptor { close(descriptor) } }
      if let server { await server.shutdown() } else { sockets.unix?.file?.remove() }
      throw .eventLoop(reason: "\(error)")
    }
  }

  /// Accepts the connections of a listening socket.
  func serve(_ descriptor: CInt, _ origin: Origin) async throws(EpollError) -> Listener {
    // Endpoints mostly have one connection: not all on the same loop.
    let first = origin.endpoint == nil ? 0 : Int.random(in: 0..<loops.count)
    return try await Listener.start(descriptor, on: loops, dealingFrom: first) { [self] connection, loop in
      admit(connection, on: loop, from: origin)
    }
  }

  /// Serves a connection of another server, which has admitted and counts it, has read `received` from it, and is told
  /// when it is closed. On its event loop. `endpoint`: the one that it is at; nil: none.
  func adopt(
    _ descriptor: CInt, _ received: ByteBuffer, of peer: PeerCredentials, on loop: ServingLoop, _ reader: SocketReader,
    at endpoint: GatewayEndpoint?, onClosed: @escaping @Sendable () -> Void
  ) {
    let id = state.withLock { $0.limits.newID() }
    let origin = endpoint.map { Origin.endpoint($0) } ?? .file
    let responder = endpoint?.responder ?? responder
    let link = HTTPConnection.Link(
      id: id, caller: Self.program(peer), responder: responder, hidesItsEnd: false, isOfProcess: endpoint == nil)
    responder.connectionOpens()
    let onClosed: @Sendable () -> Void = { [self] in
      state.withLock { $0.remove(id, from: origin) }
      responder.connectionCloses()
      onClosed()
    }
    let connection = HTTPConnection(link, of: peer.uid, self, descriptor, on: loop, reader, onClosed: onClosed)
    let isServed = state.withLock { $0.add(connection, from: origin) }
    do throws(EpollError) {
      try connection.start(with: isServed ? received : ByteBuffer())
      // Its endpoint has ended meanwhile.
      if !isServed { connection.leave() }
    } catch {
      // No memory to watch it.
      reader.close(descriptor, onClosed: onClosed)
    }
  }

  /// Sets up a new connection, on its event loop. One that cannot be served is closed.
  private func admit(_ descriptor: CInt, on loop: ServingLoop, from origin: Origin) {
    SocketReader.prepare(descriptor)
    let peer: PeerCredentials?
    do throws(SocketServerError) {
      peer = try credentials(of: descriptor, from: origin)
    } catch {
      return SocketReader(passed: passed, uid: Self.keylessUid).close(descriptor) {}
    }
    let uid = peer?.uid ?? Self.loopbackUid
    let isStranger = peer.map(configuration.isStranger) ?? false
    let reader = SocketReader(passed: passed, uid: uid)
    let (decision, replaced) = state.withLock { state -> (ConnectionLimits.Decision, HTTPConnection?) in
      if case .loopback = origin { return state.admitOnLoopback(loop.loop) }
      let count = state.endpointCount(origin)
      return (
        state.limits.admit(uid: uid, isStranger: isStranger, isFull: passed.isFull(for: uid), endpointCount: count), nil
      )
    }
    if let replaced {
      _ = configuration.onRejection(.loopback, Self.replaced, nil)
      replaced.perform { $0.leave() }
    }
    switch decision {
    case .rejected(_, let lingers):
      let traceID = configuration.onRejection(Self.program(peer), RejectedHTTPConnection.rejection, nil)
      _ = RejectedHTTPConnection(
        descriptor, reader, on: loop.loop, linger: lingers ? timeouts.linger : nil, traceID: traceID
      ) { [self] in
        if lingers { state.withLock { $0.limits.releaseRejection() } }
      }
    case .admitted(let id):
      let responder = origin.endpoint?.responder ?? responder
      let link = HTTPConnection.Link(
        id: id, caller: Self.program(peer), responder: responder, hidesItsEnd: peer == nil,
        isOfProcess: peer != nil && origin.endpoint == nil)
      responder.connectionOpens()
      let onClosed: @Sendable () -> Void = { [self] in
        state.withLock { state in
          state.remove(id, from: origin)
          state.release(id, uid: uid, isStranger: isStranger)
        }
        responder.connectionCloses()
      }
      let connection = HTTPConnection(
        link, of: peer?.uid ?? Self.keylessUid, self, descriptor, on: loop, reader, onClosed: onClosed)
      begin(connection, descriptor, reader, from: origin, onClosed)
    }
  }

  /// Begins to serve a connection that was admitted.
  private func begin(
    _ connection: HTTPConnection, _ descriptor: CInt, _ reader: SocketReader, from origin: Origin,
    _ onClosed: @escaping @Sendable () -> Void
  ) {
    let isServed = state.withLock { $0.add(connection, from: origin) }
    do throws(EpollError) {
      try connection.start()
      // Its endpoint has ended meanwhile.
      if !isServed { connection.leave() }
    } catch {
      // No memory to watch it.
      reader.close(descriptor, onClosed: onClosed)
    }
  }

  /// Returns the process that the requests of a new connection are of: the one at the other end, or an endpoint's
  /// maker; nil on the loopback address. Fails for a process that the endpoint is not for.
  private func credentials(of descriptor: CInt, from origin: Origin) throws(SocketServerError) -> PeerCredentials? {
    if case .loopback = origin {
      InternetSocket.sendAtOnce(descriptor)
      return nil
    }
    let process = try PeerCredentials(socket: descriptor)
    guard let endpoint = origin.endpoint else { return process }
    guard endpoint.accepts(process) else {
      _ = configuration.onRejection(Self.program(process), GatewayEndpoint.otherProcess, nil)
      throw .system(call: "accept", errno: EACCES)
    }
    return endpoint.maker
  }

  /// Returns who is connected; without credentials it is a program on the loopback address.
  private static func program(_ peer: PeerCredentials?) -> GatewayRequest.Program {
    guard let peer else { return .loopback }
    return .process(uid: peer.uid, gid: peer.gid, groups: peer.groups, pid: peer.pid ?? 0)
  }

  /// How many connections are open.
  package var connectionCount: Int { state.withLock { $0.open.count } }

  /// How many requests are being answered.
  var responderCount: Int { state.withLock { $0.responders } }

  /// Stops accepting and takes the socket file away. Connections that have a request get its response and end, others
  /// end now.
  package func drain() async {
    let (listeners, endpoints) = state.withLock { state in
      defer { (state.listeners, state.isDraining) = ([], true) }
      return (state.listeners, state.takeListeners())
    }
    if !listeners.isEmpty { file?.remove() }
    for endpoint in endpoints {
      endpoint.file?.remove()
      await endpoint.listener?.stopAccepting()
    }
    for listener in listeners { await listener.stopAccepting() }
    for connection in state.withLock({ Array($0.open.values) }) { connection.perform { $0.drain() } }
  }

  /// Ends every connection: a request without a response gets a 503.
  package func endAll() {
    for connection in state.withLock({ Array($0.open.values) }) { connection.perform { $0.cutOff(Self.shuttingDown) } }
  }

  private static let shuttingDown = RequestRejection(
    "shutting down: there was no time left to finish the request, which may have had an effect", status: 503,
    .shuttingDown, isUnderWay: true)

  /// Closes every connection now, and cancels what is being done for it.
  package func closeAll() {
    for connection in state.withLock({ Array($0.open.values) }) { connection.perform { $0.leave() } }
  }

  /// Stops listening, closes what is open, and ends the threads.
  package func shutdown() async {
    await drain()
    let isFirst = state.withLock { state in
      defer { state.hasStopped = true }
      return !state.hasStopped
    }
    guard isFirst else { return closeAll() }
    // What was being accepted is open, and closed, after this.
    for loop in loops { await loop.settle() }
    closeAll()
    let end = ContinuousClock.now + Self.closingTime
    while responderCount > 0, ContinuousClock.now < end {
      try? await Task.sleep(for: .milliseconds(1))
    }
    for loop in loops { await loop.settle() }
    ServingLoop.end(loops)
  }
}

extension GatewayServer: HTTPServer {
  var requestLimits: RequestGuard.Limits { configuration.request }
  var timeouts: HTTPTimeouts { configuration.timeouts }
  var isDraining: Bool { state.withLock { $0.isDraining } }

  func fields(of head: RequestHead, on connection: HTTPConnection) throws(RequestRejection) -> HTTPFields {
    guard connection.link.caller == .loopback else { return head.forwarded }
    let fields = try access.check(head)
    guard connection.input.requests > 0 || showsKey(connection.link.id) else { throw Self.replaced }
    connection.share(with: Self.loopbackUid)
    return fields
  }

  func report(
    _ rejection: RequestRejection, of caller: GatewayRequest.Program, traceparent: String?
  ) -> String {
    configuration.onRejection(caller, rejection, traceparent)
  }

  func response(to rejection: RequestRejection, isToHead: Bool, traceID: String) -> [UInt8] {
    rejection.response(isToHead: isToHead, traceID: traceID)
  }

  func responderStarts(on connection: HTTPConnection) { state.withLock { $0.responders += 1 } }

  func responderEnds(on connection: HTTPConnection) { state.withLock { $0.responders -= 1 } }
}

/// The listening sockets of a gateway: made while the process starts, before it gives up the right to.
package struct GatewaySockets: Sendable {
  let unix: ListeningSocket?
  let loopback: (descriptor: CInt, port: Int)?

  /// Listens on a Unix socket, an address, or both. `lock` is that of the socket's path.
  package init(
    unix: SocketServer.Endpoint?, lock: SocketLock?, address: String?
  ) throws(SocketServerError) {
    let unix = try unix.map { endpoint throws(SocketServerError) in try ListeningSocket(endpoint, lock: lock) }
    self.unix = unix
    do throws(SocketServerError) {
      loopback = try address.map { address throws(SocketServerError) in try Self.listen(on: address) }
    } catch {
      unix?.file?.remove()
      if let unix { Glibc.close(unix.descriptor) }
      throw error
    }
  }

  /// Closes what will not be served.
  package func close() {
    unix?.file?.remove()
    for descriptor in [unix?.descriptor, loopback?.descriptor] { if let descriptor { Glibc.close(descriptor) } }
  }

  /// No sockets: for a server that has the connections of another one only.
  package init() { (unix, loopback) = (nil, nil) }

  /// Whether there are none.
  var areNone: Bool { unix == nil && loopback == nil }

  private static func listen(on text: String) throws(SocketServerError) -> (CInt, Int) {
    guard let address = ListenAddress(text, beyondLoopback: false) else {
      throw .system(call: "listen(\(text)), which is no loopback address", errno: EADDRNOTAVAIL)
    }
    do throws(SocketServerError) {
      return try InternetSocket.listen(on: address, backlog: ListeningSocket.backlog)
    } catch {
      guard case .system(_, let number) = error else { throw error }
      throw .system(call: "listen(\(text))", errno: number)
    }
  }
}
