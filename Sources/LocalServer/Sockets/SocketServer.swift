import Glibc
import PosternRuntime
import PosternSupport

/// Listens on a Unix stream socket, admits connections and gives each a delegate. Knows bytes and peers only.
///
/// Owns the listening socket, the socket file if it made one, and the event loop threads.
public final class SocketServer: Sendable {
  /// The path clients connect to; nil when the inherited socket has none.
  public let path: String?

  let loops: [ServingLoop]
  private let listener: Listener
  private let file: SocketFile?
  let registry: ConnectionRegistry
  let endpoints = Locked(EndpointListeners())
  private let lifecycle = Locked(Lifecycle())

  /// The steps towards the end that were begun.
  private struct Lifecycle {
    var stop: Task<Void, Never>?
    var shutdown: Task<Void, Never>?
  }

  private init(
    _ listening: ListeningSocket, loops: [ServingLoop], listener: Listener, registry: ConnectionRegistry
  ) {
    path = listening.path
    file = listening.file
    self.loops = loops
    self.listener = listener
    self.registry = registry
  }

  /// Starts to listen. When this returns, clients can connect. `delegate` is called per admitted connection, on its
  /// event loop, before anything is read.
  public static func start(
    _ configuration: Configuration,
    delegate: @escaping @Sendable (Connection) -> any ConnectionDelegate
  ) async throws(SocketServerError) -> SocketServer {
    let listening = try ListeningSocket(configuration.endpoint, lock: configuration.lock)
    let registry = ConnectionRegistry(configuration, delegate: delegate)
    var loops: [ServingLoop] = []
    do throws(EpollError) {
      for _ in 0..<max(1, configuration.eventLoops) { loops.append(try ServingLoop()) }
      for loop in loops { loop.loop.execute { registry.watchPeers(on: loop.loop) } }
      let listener = try await listen(listening.descriptor, loops, registry)
      return SocketServer(listening, loops: loops, listener: listener, registry: registry)
    } catch {
      listening.file?.remove()
      close(listening.descriptor)
      ServingLoop.end(loops)
      throw .eventLoop(reason: "\(error)")
    }
  }

  static let loopHasEnded = EpollError(call: "epoll_ctl", errno: ESHUTDOWN)

  /// Accepts connections, those of `endpoint` where it is given.
  static func listen(
    _ descriptor: CInt, _ loops: [ServingLoop], _ registry: ConnectionRegistry, for endpoint: SocketEndpoint? = nil
  ) async throws(EpollError) -> Listener {
    // Endpoints mostly have one connection: not all on the same loop.
    let first = endpoint == nil ? 0 : Int.random(in: 0..<loops.count)
    return try await Listener.start(descriptor, on: loops, dealingFrom: first) { connection, loop in
      registry.admit(connection, on: loop, at: endpoint)
    }
  }

  /// How many connections are open.
  public var connectionCount: Int { registry.count }

  /// Whether every event loop runs a new task within `time`: one that is stuck serves no connection.
  public func responds(within time: Duration) async -> Bool {
    let turned = Locked(0)
    for loop in loops { loop.loop.execute { turned.withLock { $0 += 1 } } }
    let clock = ContinuousClock()
    let end = clock.now.advanced(by: time)
    while turned.withLock({ $0 }) < loops.count {
      guard clock.now < end, (try? await Task.sleep(for: .milliseconds(1))) != nil else { return false }
    }
    return true
  }

  /// Takes the socket files away and stops accepting; open connections go on. A successor can start at once.
  public func stopListening() async {
    await once(\.stop) { [self] in
      file?.remove()
      stopEndpoints()
      await listener.stopAccepting()
    }
  }

  /// Closes every connection now. What waits to be written is lost; `Connection.closeAfterFlush` is the gentle way.
  public func closeAll() { registry.closeAll() }

  /// Stops listening, closes what is open and ends the event loop threads. Delegates are called before it returns.
  /// Not to be called from an event loop.
  public func shutdown() async {
    await stopListening()
    closeAll()
    await once(\.shutdown) { [self] in
      // What was being accepted is open, and closed, after this.
      for loop in loops { await loop.settle() }
      closeAll()
      registry.sent.closeAll()
      ServingLoop.end(loops)
    }
  }

  /// Runs `body` the first time; later callers wait for that one run.
  private func once(
    _ step: WritableKeyPath<Lifecycle, Task<Void, Never>?>, _ body: @escaping @Sendable () async -> Void
  ) async {
    let task = lifecycle.withLock { lifecycle in
      if let running = lifecycle[keyPath: step] { return running }
      let task = Task { await body() }
      lifecycle[keyPath: step] = task
      return task
    }
    await task.value
  }
}
