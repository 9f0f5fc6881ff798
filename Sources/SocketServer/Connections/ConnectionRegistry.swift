import CPosternLinux
import EventLoops
import Glibc
import PosternSupport

/// The open connections of one server: admits new ones and sets up their handlers.
final class ConnectionRegistry: Sendable {
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
  private let passed: PassedDescriptors
  private let state: Locked<State>

  init(
    _ configuration: SocketServer.Configuration,
    delegate: @escaping @Sendable (Connection) -> any ConnectionDelegate
  ) {
    self.configuration = configuration
    makeDelegate = delegate
    timeouts = configuration.timeouts.clamped
    let limits = configuration.limits
    passed = PassedDescriptors(limit: limits.descriptorsPerUid)
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

  /// Looks after the callers' processes, for the connections of `loop`, from time to time. On the loop.
  func watchPeers(on loop: EpollLoop) {
    loop.schedule(in: max(configuration.peerCheck, .milliseconds(1))) { [weak self] in
      guard let self else { return }
      // Where the kernel cannot report it, or gives no descriptor, the next check tries again.
      for connection in state.withLock({ state in state.open.values.filter { $0.loop === loop } }) {
        guard connection.checkPeerProcess() else { break }
      }
      watchPeers(on: loop)
    }
  }

  /// Decides about a connection that was just accepted and gives it its handler. On its event loop.
  func admit(_ descriptor: CInt, on loop: ServingLoop) {
    SocketReader.prepare(descriptor)
    let peer: PeerCredentials
    do throws(SocketServerError) {
      peer = try PeerCredentials(socket: descriptor)
    } catch {
      close(descriptor)
      return
    }
    let party = Party(uid: peer.uid, isStranger: configuration.isStranger(peer))
    let isFull = passed.isFull(for: party.uid)
    switch state.withLock({ $0.ledger.admit(uid: party.uid, isStranger: party.isStranger, isFull: isFull) }) {
    case .admitted(let id): open(descriptor, id, peer, of: party, on: loop)
    case .rejected(let reason, let lingers):
      // Where the kernel knows how (Linux 6.16), it takes none of its descriptors.
      _ = clinux_reject_descriptors(descriptor)
      _ = RejectedConnection(
        descriptor, SocketReader(passed: passed, uid: peer.uid), on: loop.loop,
        payload: configuration.rejection(reason, peer), linger: lingers ? timeouts.linger : nil
      ) { [self] in releaseRejection(lingers) }
    }
  }

  private func open(
    _ descriptor: CInt, _ id: UInt64, _ peer: PeerCredentials, of party: Party, on loop: ServingLoop
  ) {
    let executor = ConnectionTaskExecutor(loop.scheduler, uid: peer.uid)
    let (unread, unfinished) = ledgers(of: party)
    let outbox = Outbox(
      pendingLimit: configuration.limits.pendingBytes, highWaterMark: SendBacklog.highWaterMark, unread: unread)
    let connection = Connection(
      id: id, peer: peer, loop: loop.loop, taskExecutor: executor, outbox: outbox, unread: unread,
      unfinished: unfinished)
    state.withLock { $0.open[id] = connection }
    let handler = ConnectionHandler(
      connection: connection, executor: executor, descriptor: descriptor,
      reader: SocketReader(passed: passed, uid: peer.uid), framer: configuration.limits.framer(), timeouts: timeouts
    ) { [self] in release($0, of: party) }
    do throws(EpollError) {
      try handler.start(makeDelegate)
    } catch {
      // No memory to watch it.
      close(descriptor)
      connection.didClose()
      release(connection, of: party)
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
}
