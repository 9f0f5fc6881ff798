import CPosternLinux
import Glibc
import PosternRuntime
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
    /// For each endpoint that is being served: how many connections it has.
    var endpoints: [String: Int] = [:]

    /// Decides about a connection of `party`; nil: its endpoint has ended.
    mutating func admit(_ party: Party, isFull: Bool, at endpoint: String?) -> ConnectionLimits.Decision? {
      guard let endpoint else { return ledger.admit(uid: party.uid, isStranger: party.isStranger, isFull: isFull) }
      guard let count = endpoints[endpoint] else { return nil }
      let decision = ledger.admit(
        uid: party.uid, isStranger: party.isStranger, isFull: isFull, endpointCount: count)
      if case .admitted = decision { endpoints[endpoint] = count + 1 }
      return decision
    }
  }

  private let configuration: SocketServer.Configuration
  private let timeouts: SocketServer.Timeouts
  private let makeDelegate: @Sendable (Connection) -> any ConnectionDelegate
  let passed: PassedDescriptors
  let sent = SentDescriptors()
  private let state: Locked<State>

  init(
    _ configuration: SocketServer.Configuration,
    delegate: @escaping @Sendable (Connection) -> any ConnectionDelegate
  ) {
    self.configuration = configuration
    makeDelegate = delegate
    timeouts = configuration.timeouts.clamped
    let limits = configuration.limits
    passed = PassedDescriptors(limit: limits.descriptorsPerUid, capacity: limits.descriptors)
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
      sent.sweep()
      // Where the kernel cannot report it, or gives no descriptor, the next check tries again.
      for connection in state.withLock({ state in state.open.values.filter { $0.loop === loop } }) {
        guard connection.checkPeerProcess() else { break }
      }
      watchPeers(on: loop)
    }
  }

  /// Accepts connections of an endpoint from now on.
  func begin(_ endpoint: String) { state.withLock { $0.endpoints[endpoint] = 0 } }

  /// Accepts no more of them.
  func end(_ endpoint: String) { state.withLock { $0.endpoints[endpoint] = nil } }

  /// Decides about a connection that was just accepted, or made here (`isOwn`), and gives it its handler. On its event
  /// loop. False when it is not open.
  @discardableResult
  func admit(_ descriptor: CInt, on loop: ServingLoop, at endpoint: SocketEndpoint? = nil, isOwn: Bool = false) -> Bool
  {
    SocketReader.prepare(descriptor)
    let process: PeerCredentials
    do throws(SocketServerError) {
      process = try PeerCredentials(socket: descriptor)
    } catch {
      close(descriptor)
      return false
    }
    if let endpoint, !isOwn, !endpoint.accepts(process) {
      _ = configuration.rejection(.otherProcess, process)
      SocketReader(passed: passed, uid: process.uid).close(descriptor) {}
      return false
    }
    let peer = endpoint?.maker ?? process
    let party = Party(uid: peer.uid, isStranger: configuration.isStranger(peer))
    let isFull = passed.isFull(for: party.uid)
    switch state.withLock({ $0.admit(party, isFull: isFull, at: endpoint?.id) }) {
    case .admitted(let id):
      return open(descriptor, id, peer, of: party, on: loop, at: endpoint)
    case nil:
      SocketReader(passed: passed, uid: party.uid).close(descriptor) {}
    case .rejected(let reason, let lingers):
      // Where the kernel knows how (Linux 6.16), it takes none of its descriptors.
      _ = clinux_reject_descriptors(descriptor)
      _ = RejectedConnection(
        descriptor, SocketReader(passed: passed, uid: peer.uid), on: loop.loop,
        payload: configuration.rejection(reason, peer), linger: lingers ? timeouts.linger : nil
      ) { [self] in releaseRejection(lingers) }
    }
    return false
  }

  private func open(
    _ descriptor: CInt, _ id: UInt64, _ peer: PeerCredentials, of party: Party, on loop: ServingLoop,
    at endpoint: SocketEndpoint?
  ) -> Bool {
    let executor = ConnectionTaskExecutor(loop.scheduler, uid: peer.uid)
    let (unread, unfinished) = ledgers(of: party)
    let outbox = Outbox(
      pendingLimit: configuration.limits.pendingBytes, highWaterMark: SendBacklog.highWaterMark, unread: unread)
    let connection = Connection(
      id: id, peer: peer, loop: loop.loop, taskExecutor: executor, outbox: outbox,
      unread: unread, unfinished: unfinished)
    state.withLock { $0.open[id] = connection }
    let reader = SocketReader(passed: passed, uid: peer.uid, sent: sent)
    let handler = ConnectionHandler(
      connection: connection, executor: executor, descriptor: descriptor, reader: reader,
      framer: configuration.limits.framer(), timeouts: timeouts, isAtEndpoint: endpoint != nil,
      // Without its own responder an endpoint would have that of the main socket, with all of its maker's rights.
      serveHTTP: endpoint != nil && endpoint?.http == nil
        ? nil
        : configuration.web.map { web in
          { descriptor, received, onClosed in
            web.adopt(
              descriptor, received, of: peer, on: loop, reader, at: endpoint?.http, onClosed: onClosed)
          }
        }
    ) { [self] in release($0, of: party, at: endpoint?.id) }
    do throws(EpollError) {
      try handler.start(endpoint?.delegate ?? makeDelegate)
      return true
    } catch {
      // No memory to watch it.
      close(descriptor)
      connection.didClose()
      release(connection, of: party, at: endpoint?.id)
      return false
    }
  }

  private func release(_ connection: Connection, of party: Party, at endpoint: String?) {
    state.withLock { state in
      state.open[connection.id] = nil
      state.ledger.release(uid: party.uid, isStranger: party.isStranger)
      if let endpoint { state.endpoints[endpoint]? -= 1 }
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
