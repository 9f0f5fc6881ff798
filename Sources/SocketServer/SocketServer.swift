import Glibc
import NIOCore
import NIOPosix
import PosternSupport

/// Listens on a Unix stream socket, admits connections and gives each a delegate. Knows bytes and peers only.
///
/// Owns the listening socket, the socket file if it made one, and the event loop threads.
public final class SocketServer: Sendable {
  /// The path clients connect to; nil when the inherited socket has none.
  public let path: String?
  /// Whether the kernel rejects descriptors that clients send (Linux 6.16). Where it does not, a client can make an
  /// event loop wait.
  public let rejectsDescriptors: Bool

  private let group: MultiThreadedEventLoopGroup
  private let listener: any Channel
  private let file: SocketFile?
  private let registry: ConnectionRegistry
  private let lifecycle = Locked(Lifecycle())

  /// The steps towards the end that were begun.
  private struct Lifecycle {
    var stop: Task<Void, Never>?
    var shutdown: Task<Void, Never>?
  }

  private init(
    path: String?, rejectsDescriptors: Bool, group: MultiThreadedEventLoopGroup, listener: any Channel,
    file: SocketFile?, registry: ConnectionRegistry
  ) {
    self.path = path
    self.group = group
    self.listener = listener
    self.file = file
    self.rejectsDescriptors = rejectsDescriptors
    self.registry = registry
  }

  /// Starts to listen. When this returns, clients can connect. `delegate` is called per admitted connection, on its
  /// event loop, before anything is read.
  public static func start(
    _ configuration: Configuration,
    delegate: @escaping @Sendable (Connection) -> any ConnectionDelegate
  ) async throws(SocketServerError) -> SocketServer {
    let listening = try ListeningSocket(configuration.endpoint, lock: configuration.lock)
    let group = MultiThreadedEventLoopGroup(numberOfThreads: max(1, configuration.eventLoops))
    let schedulers = group.makeIterator().map { LoopScheduler(eventLoop: $0) }
    let registry = ConnectionRegistry(configuration, schedulers: schedulers, delegate: delegate)
    do {
      for scheduler in schedulers { try await WakeupSocket.attach(to: scheduler) }
      for loop in group.makeIterator() { registry.watchPeers(on: loop) }
      let bound = bootstrap(group, registry).withBoundSocket(listening.descriptor)
      // NIO has called listen() with a backlog of its own, on this thread; a later call sets the length again. At once:
      // a non-blocking connect() to a full backlog fails.
      _ = listen(listening.descriptor, ListeningSocket.backlog)
      let listener = try await bound.get()
      return SocketServer(
        path: listening.path, rejectsDescriptors: listening.rejectsDescriptors, group: group, listener: listener,
        file: listening.file, registry: registry)
    } catch {
      listening.file?.remove()
      try? await group.shutdownGracefully()
      throw .eventLoop(reason: "\(error)")
    }
  }

  /// How many connections are open.
  public var connectionCount: Int { registry.count }

  /// Whether every event loop runs a new task within `time`: one that is stuck serves no connection.
  public func responds(within time: Duration) async -> Bool {
    let turned = Locked(0)
    let loops = Array(group.makeIterator())
    for loop in loops { loop.execute { turned.withLock { $0 += 1 } } }
    let clock = ContinuousClock()
    let end = clock.now.advanced(by: time)
    while turned.withLock({ $0 }) < loops.count {
      guard clock.now < end, (try? await Task.sleep(for: .milliseconds(1))) != nil else { return false }
    }
    return true
  }

  /// Takes the socket file away and stops accepting; open connections go on. A successor can start at once.
  public func stopListening() async {
    await once(\.stop) { [self] in
      file?.remove()
      // The one error is that it is closed already.
      try? await listener.close().get()
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
      registry.retireExecutors()
      // Closes what slipped in; the one error is that it is shut down already.
      try? await group.shutdownGracefully()
    }
  }

  /// Runs `body` the first time; later callers wait for that one run. NIO's own calls do not survive a second
  /// time: a future of an event loop that has ended never completes.
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

  private static func bootstrap(
    _ group: MultiThreadedEventLoopGroup, _ registry: ConnectionRegistry
  ) -> ServerBootstrap {
    ServerBootstrap(group: group)
      // Enough for the queue of those who wait to get on, and so few that those who are connected notice nothing.
      .serverChannelOption(.maxMessagesPerRead, value: 16)
      .serverChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(AcceptPauseHandler())
        }
      }
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try setOptions(of: channel)
          try registry.admit(channel)
        }
      }
  }

  /// The options of every connection. Set here and not by the bootstrap, which takes a chain of futures for each
  /// connection.
  private static func setOptions(of channel: any Channel) throws {
    guard let options = channel.syncOptions else { throw ChannelError.operationUnsupported }
    try options.setOption(.allowRemoteHalfClosure, value: true)
    // One read, then the next connection is read.
    try options.setOption(.maxMessagesPerRead, value: 1)
    try options.setOption(
      .writeBufferWaterMark, value: .init(low: 1 << 16, high: ConnectionRegistry.highWaterMark))
    try options.setOption(
      .recvAllocator, value: AdaptiveRecvByteBufferAllocator(minimum: 1 << 11, initial: 1 << 12, maximum: 1 << 16))
  }
}
