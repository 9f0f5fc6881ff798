import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
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
    package var eventLoops = min(System.coreCount, 2)
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

  package struct Timeouts: Sendable {
    /// For a header section, from the connection's begin or the section's first byte.
    package var head = Duration.seconds(30)
    /// For the next request.
    package var idle = Duration.seconds(60)
    /// For bytes of a body that are waited for, and for the client to take what waits for it. A body also has to come
    /// with 64 KiB, or its end, in ten times as long.
    package var stall = Duration.seconds(30)
    /// For the rest of a body that was not wanted.
    package var discard = Duration.seconds(5)
    /// For the client's end after this side has closed, and on the loopback address for a response after the client's
    /// side has closed.
    package var linger = Duration.seconds(1)
    /// For the first request of a connection that is new when the server drains.
    var acceptGrace = Duration.milliseconds(50)
  }

  struct State {
    var limits: ConnectionLimits
    var keyless: KeylessConnections
    /// Connections that have given their place to others and are not closed yet.
    var replaced: Set<UInt64> = []
    var open: [UInt64: GatewayConnection] = [:]
    var channels: [any Channel] = []
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
  /// Bytes that are read at a time.
  private static let readSize = 16 << 10
  /// How long cancelled responders may take.
  private static let closingTime = Duration.seconds(5)

  /// The port of the loopback address; nil without one.
  package let port: Int?
  let configuration: Configuration
  let access: GatewayAccess
  let responder: any GatewayResponder
  private let file: SocketFile?
  private let group: MultiThreadedEventLoopGroup
  private let executors: [ObjectIdentifier: EventLoopTaskExecutor]
  let state: Locked<State>
  /// The bytes that connections have in memory.
  let held: Locked<SharedBudget>

  private init(_ sockets: GatewaySockets, _ configuration: Configuration, _ responder: any GatewayResponder) {
    self.configuration = configuration
    self.responder = responder
    access = GatewayAccess(key: configuration.key, credentialField: configuration.credentialField)
    port = sockets.loopback?.port
    file = sockets.unix?.file
    group = MultiThreadedEventLoopGroup(numberOfThreads: max(1, configuration.eventLoops))
    executors = Dictionary(
      uniqueKeysWithValues: group.makeIterator().map { (ObjectIdentifier($0), EventLoopTaskExecutor($0)) })
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
    let server = GatewayServer(sockets, configuration, responder)
    var descriptors = [sockets.unix?.descriptor, sockets.loopback?.descriptor].compactMap { $0 }
    do {
      while let descriptor = descriptors.first {
        let channel = try await server.serve(
          descriptor, descriptor == sockets.unix?.descriptor ? .file : .loopback)
        descriptors.removeFirst()
        server.state.withLock { $0.channels.append(channel) }
        // NIO has set a shorter queue.
        Glibc.listen(descriptor, ListeningSocket.backlog)
      }
    } catch {
      for descriptor in descriptors { close(descriptor) }
      await server.shutdown()
      throw .eventLoop(reason: "\(error)")
    }
    return server
  }

  /// Accepts the connections of a listening socket.
  func serve(_ descriptor: CInt, _ origin: Origin) async throws -> any Channel {
    try await ServerBootstrap(group: group)
      .serverChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(AcceptPause()) }
      }
      // Nothing is read that is not wanted.
      .childChannelOption(.autoRead, value: false)
      .childChannelOption(.maxMessagesPerRead, value: 1)
      .childChannelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: Self.readSize))
      // A client that has closed its side, as `printf … | socat` does, still gets its response.
      .childChannelOption(.allowRemoteHalfClosure, value: true)
      .childChannelOption(.writeBufferWaterMark, value: .init(low: 32 << 10, high: 128 << 10))
      .childChannelInitializer { [self] channel in
        channel.eventLoop.makeCompletedFuture { try self.accept(channel, from: origin) }
      }
      .withBoundSocket(descriptor)
      .get()
  }

  /// Sets up a new connection, on its event loop. One that cannot be served fails, and is closed.
  private func accept(_ channel: any Channel, from origin: Origin) throws {
    let pipeline = channel.pipeline.syncOperations
    let peer = try credentials(on: pipeline, from: origin)
    guard let executor = executors[ObjectIdentifier(channel.eventLoop)] else { throw ChannelError.operationUnsupported }
    let uid = peer?.uid ?? Self.loopbackUid
    let isStranger = peer.map(configuration.isStranger) ?? false
    let (decision, replaced) = state.withLock { state -> (ConnectionLimits.Decision, GatewayConnection?) in
      if case .loopback = origin { return state.admitOnLoopback() }
      let count = state.endpointCount(origin)
      return (state.limits.admit(uid: uid, isStranger: isStranger, endpointCount: count), nil)
    }
    if let replaced {
      _ = configuration.onRejection(.loopback, Self.replaced, nil)
      replaced.perform { $0.leave() }
    }
    switch decision {
    case .rejected(_, let lingers):
      let traceID = configuration.onRejection(Self.program(peer), RejectedChannel.rejection, nil)
      try pipeline.addHandler(
        RejectedChannel(lingers ? TimeAmount(configuration.timeouts.linger) : nil, traceID) { [self] in
          if lingers { state.withLock { $0.limits.releaseRejection() } }
        })
    case .admitted(let id):
      let link = GatewayConnection.Link(
        id: id, uid: uid, caller: Self.program(peer), channel: channel, executor: executor,
        responder: origin.endpoint?.responder ?? responder)
      let connection = GatewayConnection(link, self)
      let isServed = state.withLock { $0.add(connection, from: origin) }
      channel.closeFuture.whenComplete { [self] _ in
        state.withLock { state in
          state.remove(id, from: origin)
          state.release(id, uid: uid, isStranger: isStranger)
        }
      }
      guard isServed else { throw ChannelError.ioOnClosedChannel }
      try pipeline.addHandlers([
        connection, ByteToMessageHandler(HTTPRequestDecoder(limitConfiguration: decoderLimits)),
        ParsedRequestHandler(connection),
      ])
    }
  }

  /// Returns the process that the requests of a new connection are of: the one at the other end, or an endpoint's
  /// maker; nil on the loopback address. Fails for a process that the endpoint is not for.
  private func credentials(
    on pipeline: ChannelPipeline.SynchronousOperations, from origin: Origin
  ) throws -> PeerCredentials? {
    if case .loopback = origin { return nil }
    let process = try pipeline.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
      try PeerCredentials(socket: $0)
    }
    guard let process else { throw ChannelError.operationUnsupported }
    guard let endpoint = origin.endpoint else { return process }
    guard endpoint.accepts(process) else {
      _ = configuration.onRejection(Self.program(process), GatewayEndpoint.otherProcess, nil)
      throw ChannelError.operationUnsupported
    }
    return endpoint.maker
  }

  /// Returns who is connected; without credentials it is a program on the loopback address.
  private static func program(_ peer: PeerCredentials?) -> GatewayRequest.Program {
    guard let peer else { return .loopback }
    return .process(uid: peer.uid, gid: peer.gid, groups: peer.groups, pid: peer.pid ?? 0)
  }

  /// The guard's limits are lower.
  private var decoderLimits: NIOHTTPDecoderLimitConfiguration {
    var limits = NIOHTTPDecoderLimitConfiguration()
    limits.maxHeaderFieldSize = configuration.request.section
    limits.maxHeaderListSize = configuration.request.section
    limits.maxHeaderFieldCount = configuration.request.fields + 1
    return limits
  }

  /// How many connections are open.
  package var connectionCount: Int { state.withLock { $0.open.count } }

  /// How many requests are being answered.
  var responderCount: Int { state.withLock { $0.responders } }

  /// Counts tasks: the loops end behind the last one.
  func responderStarts() { state.withLock { $0.responders += 1 } }

  func responderEnds() { state.withLock { $0.responders -= 1 } }

  /// Whether connections end behind their response.
  var isDraining: Bool { state.withLock { $0.isDraining } }

  /// Stops accepting and takes the socket file away. Connections that have a request get its response and end, others
  /// end now.
  package func drain() async {
    let (channels, endpoints) = state.withLock { state in
      defer { (state.channels, state.isDraining) = ([], true) }
      return (state.channels, state.takeListeners())
    }
    if !channels.isEmpty { file?.remove() }
    for listener in endpoints {
      listener.file?.remove()
      listener.channel?.close(promise: nil)
    }
    for channel in channels { try? await channel.close().get() }
    for connection in state.withLock({ Array($0.open.values) }) { connection.perform { $0.drain() } }
  }

  /// Closes every connection now, and cancels what is being done for it.
  package func closeAll() {
    for connection in state.withLock({ Array($0.open.values) }) { connection.perform { $0.leave() } }
  }

  /// Stops listening, closes what is open, and ends the threads.
  package func shutdown() async {
    await drain()
    closeAll()
    let isFirst = state.withLock { state in
      defer { state.hasStopped = true }
      return !state.hasStopped
    }
    guard isFirst else { return }
    let end = ContinuousClock.now + Self.closingTime
    while responderCount > 0, ContinuousClock.now < end {
      try? await Task.sleep(for: .milliseconds(1))
    }
    try? await group.shutdownGracefully()
  }
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

  private static func listen(on address: String) throws(SocketServerError) -> (CInt, Int) {
    guard let colon = address.utf8.lastIndex(of: UInt8(ascii: ":")),
      let port = UInt16(address[address.utf8.index(after: colon)...])
    else {
      throw .system(call: "listen(\(address))", errno: EINVAL)
    }
    var host = String(address[..<colon])
    if host == "localhost" { host = "127.0.0.1" }
    if host.startsWithBytes(of: "["), host.endsWithBytes(of: "]") { host = String(host.dropFirst().dropLast()) }
    guard host == "::1" || host.startsWithBytes(of: "127."),
      let socketAddress = try? SocketAddress(ipAddress: host, port: Int(port))
    else { throw .system(call: "listen(\(address)), which is no loopback address", errno: EADDRNOTAVAIL) }
    let descriptor = socket(
      host == "::1" ? AF_INET6 : AF_INET,
      CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard descriptor >= 0 else { throw .system(call: "socket", errno: errno) }
    var isOn: CInt = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<CInt>.size))
    let failed = socketAddress.withSockAddr { bind(descriptor, $0, socklen_t($1)) == 0 ? 0 : errno }
    guard failed == 0, Glibc.listen(descriptor, ListeningSocket.backlog) == 0 else {
      let failed = failed == 0 ? errno : failed
      Glibc.close(descriptor)
      throw .system(call: "listen(\(address))", errno: failed)
    }
    var bound = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let isKnown = withUnsafeMutablePointer(to: &bound) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) == 0 }
    }
    // The port is in the same bytes of both families.
    let actual = withUnsafeBytes(of: bound) { UInt16($0[2]) << 8 | UInt16($0[3]) }
    return (descriptor, isKnown ? Int(actual) : Int(port))
  }
}

/// Pauses accepting after a failed `accept`: without descriptors the listening socket stays readable.
private final class AcceptPause: ChannelInboundHandler, @unchecked Sendable {
  // Sendable because it has no variables.
  typealias InboundIn = any Channel

  private static let pause = TimeAmount.milliseconds(100)

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard context.channel.isActive else { return }
    let channel = context.channel
    try? channel.syncOptions?.setOption(.autoRead, value: false)
    context.eventLoop.scheduleTask(in: Self.pause) { try? channel.syncOptions?.setOption(.autoRead, value: true) }
  }
}
