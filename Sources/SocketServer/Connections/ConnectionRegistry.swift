import NIOCore
import NIOPosix
import PosternSupport

/// The open connections of one server: admits new ones and sets up their pipelines.
final class ConnectionRegistry: Sendable {
  /// Over this many bytes waiting in the channel a peer counts as not reading.
  static let highWaterMark = 1 << 20

  /// The peers whose bytes are counted together. A uid may be a stranger's by the groups of one of its processes and
  /// not by another's.
  private struct Party: Hashable {
    let uid: UInt32
    let isStranger: Bool
  }

  private struct State {
    var ledger: ConnectionLimits
    var open: [UInt64: Connection] = [:]
    /// For each party that has connections: what waits unread, and what has come of messages that are not handled yet.
    var ledgers: [Party: (unread: ByteLedger, unfinished: ByteLedger)] = [:]
  }

  private let configuration: SocketServer.Configuration
  private let timeouts: SocketServer.Timeouts
  private let makeDelegate: @Sendable (Connection) -> any ConnectionDelegate
  private let state: Locked<State>
  private let schedulers: [ObjectIdentifier: LoopScheduler]

  init(
    _ configuration: SocketServer.Configuration, schedulers: [LoopScheduler],
    delegate: @escaping @Sendable (Connection) -> any ConnectionDelegate
  ) {
    self.configuration = configuration
    self.schedulers = Dictionary(uniqueKeysWithValues: schedulers.map { (ObjectIdentifier($0.eventLoop), $0) })
    makeDelegate = delegate
    timeouts = configuration.timeouts.clamped
    let limits = configuration.limits
    state = Locked(
      State(
        ledger: ConnectionLimits(connections: limits.connections, connectionsPerUid: limits.connectionsPerUid)))
  }

  /// How many connections are admitted.
  var count: Int { state.withLock { $0.ledger.total } }

  /// Closes all of them.
  func closeAll() {
    for connection in state.withLock({ Array($0.open.values) }) { connection.close() }
  }

  /// Looks after the callers' processes, for the connections of `eventLoop`, from time to time.
  func watchPeers(on eventLoop: any EventLoop) {
    let time = TimeAmount(configuration.peerCheck)
    eventLoop.scheduleRepeatedTask(initialDelay: time, delay: time) { [weak self] task in
      let connections = self?.state.withLock { state in state.open.values.filter(\.isOnEventLoop) } ?? []
      if self == nil { task.cancel() }
      // Where the kernel cannot report it, or gives no descriptor, the next check tries again.
      for connection in connections where !connection.checkPeerProcess() { break }
    }
  }

  /// No task is run on an event loop any more.
  func retireExecutors() {
    for scheduler in schedulers.values { scheduler.retire() }
  }

  /// Decides about a channel that was just accepted and gives it its handler. On the channel's event loop.
  func admit(_ channel: any Channel) throws {
    let socket = try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
      (descriptor: $0, peer: try PeerCredentials(socket: $0))
    }
    guard let (descriptor, peer) = socket, let scheduler = schedulers[ObjectIdentifier(channel.eventLoop)] else {
      throw ChannelError.operationUnsupported
    }
    let party = Party(uid: peer.uid, isStranger: configuration.isStranger(peer))
    switch state.withLock({ $0.ledger.admit(uid: party.uid, isStranger: party.isStranger) }) {
    case .admitted(let id):
      let executor = ConnectionTaskExecutor(scheduler, uid: peer.uid)
      let (unread, unfinished) = ledgers(of: party)
      let outbox = Outbox(
        pendingLimit: configuration.limits.pendingBytes, highWaterMark: Self.highWaterMark, unread: unread)
      let connection = Connection(
        id: id, peer: peer, channel: channel, taskExecutor: executor, outbox: outbox, unread: unread,
        unfinished: unfinished)
      state.withLock { $0.open[id] = connection }
      do {
        try channel.pipeline.syncOperations.addHandler(
          handler(for: connection, executor, descriptor: descriptor) { [self] in release($0, of: party) })
      } catch {
        // Closed in the meantime: the handler will not report it.
        connection.didClose()
        release(connection, of: party)
        throw error
      }
    case .rejected(let reason, let lingers):
      let handler = RejectionChannelHandler(
        payload: configuration.rejection(reason),
        linger: lingers ? timeouts.linger : nil,
        onClosed: { [self] in releaseRejection(lingers) })
      do {
        try channel.pipeline.syncOperations.addHandler(handler)
      } catch {
        releaseRejection(lingers)
        throw error
      }
    }
  }

  private func release(_ connection: Connection, of party: Party) {
    state.withLock { state in
      state.open[connection.id] = nil
      state.ledger.release(uid: party.uid, isStranger: party.isStranger)
      guard !state.ledger.hasConnections(of: party.uid) else { return }
      for isStranger in [false, true] { state.ledgers[Party(uid: party.uid, isStranger: isStranger)] = nil }
    }
  }

  /// The ledgers of `party`, of which a connection was just admitted.
  private func ledgers(of party: Party) -> (unread: ByteLedger, unfinished: ByteLedger) {
    state.withLock { state in
      if let ledgers = state.ledgers[party] { return ledgers }
      let limits = configuration.limits
      let ledgers = (
        unread: limits.unreadLedger(isStranger: party.isStranger), unfinished: limits.unfinishedLedger()
      )
      state.ledgers[party] = ledgers
      return ledgers
    }
  }

  private func releaseRejection(_ lingered: Bool) {
    if lingered { state.withLock { $0.ledger.releaseRejection() } }
  }

  private func handler(
    for connection: Connection, _ executor: ConnectionTaskExecutor, descriptor: CInt,
    onClosed: @escaping @Sendable (Connection) -> Void
  ) -> ConnectionChannelHandler {
    ConnectionChannelHandler(
      connection: connection,
      executor: executor,
      descriptor: descriptor,
      framer: configuration.limits.framer(),
      timeouts: timeouts,
      makeDelegate: makeDelegate,
      onClosed: onClosed)
  }
}
