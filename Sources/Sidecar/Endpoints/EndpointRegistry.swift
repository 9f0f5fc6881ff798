import PosternJSON
package import PosternJSONRPC
import PosternObservability
package import PosternProtocol
package import PosternSupport

/// The endpoints of this process: makes them, and ends them with all that depends on them. Their sockets are the
/// program's (`EndpointSockets`).
package final class EndpointRegistry: Sendable {
  private struct State {
    var tree = EndpointTree()
    var sockets: (any EndpointSockets)?
    /// The task that wakes up for the next expiry; one for all.
    var timer: (due: MonotonicInstant, task: Task<Void, Never>)?
    var isDraining = false
    var counts = EndpointCounts()
  }

  private let state = Locked(State())
  let clock: any EngineClock
  let hub: EventHub
  package let approvals: ApprovalStep
  private let forget: @Sendable (Set<String>) -> Void
  private let log: ConnectionLog

  /// `forget` forgets what is kept of levels that have ended, by their ids.
  package init(
    clock: any EngineClock, hub: EventHub, approvals: ApprovalStep, log: ConnectionLog,
    forget: @escaping @Sendable (Set<String>) -> Void = { _ in }
  ) {
    self.forget = forget
    self.clock = clock
    self.hub = hub
    self.approvals = approvals
    self.log = log
  }

  /// From here on the sockets come from `sockets`: called once, before the first connection.
  package func use(_ sockets: any EndpointSockets) { state.withLock { $0.sockets = sockets } }

  /// No endpoint is made from here on.
  package func drain() { state.withLock { $0.isDraining = true } }

  /// How many there are, and were.
  package var counts: EndpointCounts {
    state.withLock { state in
      var counts = state.counts
      counts.open = state.tree.count
      return counts
    }
  }

  /// Makes an endpoint and its sockets; `approves`: its calls are put to `caller` first. Ends it again when the caller
  /// or what it is made through is gone by then.
  func make(
    _ request: EndpointSocketRequest, _ facts: EndpointFacts, approves: Bool, for caller: PeerConnection
  ) async throws(RPCFault) -> OpenedEndpoint {
    let id = request.narrowing.id
    let sockets = try add(request.narrowing, facts)
    // Not before it is in the tree, whose end removes it.
    if approves { approvals.require(id, of: caller) }
    // A connection that was closed before the endpoint was added has ended nothing.
    if facts.connection != nil, caller.conversation == nil { end(id, because: .connection) }
    let opened: OpenedEndpoint
    do throws(EndpointSocketError) {
      opened = try await sockets.open(request)
    } catch {
      discard(id)
      throw fault(error, id, facts.maker)
    }
    let paths = EndpointPaths(path: opened.path, httpPath: opened.httpPath)
    guard state.withLock({ $0.tree.opened(id, at: paths) }) else {
      sockets.close(id)
      throw RPCFault(.peerForbidden, "The endpoint has ended with what it depends on", outcome: .notSent)
    }
    guard !Task.isCancelled else {
      discard(id)
      throw RPCFault(.requestCancelled)
    }
    state.withLock { $0.counts.created += 1 }
    log.made(id, of: facts.maker)
    return opened
  }

  private func add(_ narrowing: Narrowing, _ facts: EndpointFacts) throws(RPCFault) -> any EndpointSockets {
    let outcome = state.withLock { state -> Result<any EndpointSockets, RPCFault> in
      guard !state.isDraining else {
        return .failure(RPCFault(.shuttingDown, outcome: .notSent, isRetryable: true))
      }
      guard let sockets = state.sockets else { return .failure(RPCFault(.internalError)) }
      do throws(EndpointTree.Rejection) {
        try state.tree.add(narrowing, facts)
      } catch {
        return .failure(
          error == .ended
            ? RPCFault(.peerForbidden, EndpointEnd.revoked.message)
            : .overloaded("Too many endpoints, of this user or in all"))
      }
      schedule(&state)
      return .success(sockets)
    }
    return try outcome.get()
  }

  // MARK: - Lists

  /// The endpoints behind `position` that `caller` sees, the oldest first.
  func entries(for caller: PeerConnection, after position: Int64, atMost limit: Int) -> [EndpointTree.Entry] {
    state.withLock {
      $0.tree.entries(of: caller.peer.uid, below: caller.narrowing, after: position, atMost: limit)
    }
  }

  /// How many connections each endpoint has.
  var connectionCounts: [String: Int] {
    var counts = hub.httpConnections.withLock { $0.atEndpoints }
    for caller in hub.connections {
      guard let endpoint = caller.narrowing?.endpoint else { continue }
      counts[endpoint, default: 0] += 1
    }
    return counts
  }

  // MARK: - Ends

  /// Ends an endpoint that `caller` sees, and those made through it; returns how many, nil when it sees none.
  func revoke(_ id: String, by caller: PeerConnection) -> Int? {
    let (uid, level) = (caller.peer.uid, caller.narrowing)
    return end(because: .revoked) { tree in tree.sees(id, uid: uid, level) ? tree.end(id) : nil }
  }

  /// Ends an endpoint and those made through it; returns how many.
  @discardableResult
  package func end(_ id: String, because reason: EndpointEnd) -> Int { end(because: reason) { $0.end(id) } ?? 0 }

  /// The connection is gone: ends what is bound to it.
  package func connectionClosed(_ connection: UInt64, _ narrowing: Narrowing?) {
    // The levels that its own `narrow` has added: those of the endpoint that it is at are others' as well.
    forget(Set((narrowing?.chain ?? []).reversed().prefix { !EndpointHandle.isOne($0.id) }.map(\.id)))
    _ = end(because: .connection) { tree in
      tree.forgetNarrowed(connection)
      return tree.end(boundTo: connection)
    }
  }

  /// Counts the lists of a `narrow` of `caller`; throws when its user's connections and endpoints have too many.
  package func count(_ limits: EndpointLimits, of caller: PeerConnection) throws(RPCFault) {
    let isCounted = state.withLock { $0.tree.count(limits, of: caller.connection, uid: caller.peer.uid) }
    guard isCounted else {
      throw .overloaded("The lists of this user's endpoints and narrowed connections have too many bytes")
    }
  }

  /// Takes away what has no sockets.
  private func discard(_ id: String) {
    let ended = state.withLock { $0.tree.end(id) }
    close(ended, because: .revoked)
  }

  private func end(because reason: EndpointEnd, _ remove: (inout EndpointTree) -> [EndpointTree.Entry]?) -> Int? {
    let ended = state.withLock { state in
      let ended = remove(&state.tree)
      for entry in ended ?? [] where entry.sockets != nil { state.counts.ended[reason.rawValue, default: 0] += 1 }
      return ended
    }
    guard let ended else { return nil }
    close(ended, because: reason)
    for entry in ended where entry.sockets != nil {
      log.ended(entry.id, of: entry.facts.maker, why: reason.rawValue)
    }
    return ended.count
  }

  /// Ends the calls and connections of endpoints that are in the tree no more, and their sockets.
  private func close(_ ended: [EndpointTree.Entry], because reason: EndpointEnd) {
    guard !ended.isEmpty else { return }
    // From here on no further call passes.
    for entry in ended { entry.narrowing.revoke() }
    let ids = Set(ended.map(\.id))
    let fault = reason.fault
    for caller in hub.connections where caller.narrowing?.chain.contains(where: { ids.contains($0.id) }) ?? false {
      caller.conversation?.finish(with: fault)
    }
    let sockets = state.withLock { $0.sockets }
    for entry in ended {
      sockets?.close(entry.id)
      approvals.forget(entry.id)
    }
    forget(ids)
  }

  // MARK: - Expiry

  /// Has the timer wake up in time.
  private func schedule(_ state: inout State) {
    guard let due = state.tree.nextExpiry else { return }
    if let timer = state.timer {
      guard due < timer.due else { return }
      timer.task.cancel()
    }
    let task = Task { [weak self, clock] in
      guard (try? await clock.sleep(for: max(.zero, due - clock.monotonicNow))) != nil else { return }
      self?.expire()
    }
    state.timer = (due, task)
  }

  private func expire() {
    _ = end(because: .expired) { [clock] in $0.endExpired(at: clock.monotonicNow) }
    state.withLock { state in
      state.timer = nil
      schedule(&state)
    }
  }

  private func fault(_ error: EndpointSocketError, _ id: String, _ maker: Peer) -> RPCFault {
    switch error {
    case .noDirectory:
      return .invalidParams("The sidecar can make no socket file here: descriptor is needed", path: "/descriptor")
    case .noGateway: return .invalidParams("http needs the gateway (gateway.listen), which is off", path: "/http")
    case .noProcess: return .invalidParams("No such process, or not one of this user", path: "/bindTo/pid")
    case .exhausted: return .overloaded("No descriptor is left for another endpoint")
    case .full(let reason):
      log.noSocket(id, of: maker, why: reason)
      return .overloaded("The disk has no space for the socket file of another endpoint")
    case .failed(let reason):
      log.noSocket(id, of: maker, why: reason)
      return RPCFault(.internalError)
    }
  }
}

/// Why an endpoint ended.
package enum EndpointEnd: String, Sendable, CaseIterable {
  case revoked, expired, connection, process

  var message: String {
    switch self {
    case .revoked: "The endpoint was revoked"
    case .expired: "The endpoint has expired"
    case .connection: "The endpoint has ended with its maker's connection"
    case .process: "The endpoint has ended with its process"
    }
  }

  /// The error of calls that were under way.
  var fault: RPCFault {
    RPCFault(.peerForbidden, message, outcome: .sentNoReply, isRetryable: false)
  }
}

/// Makes and closes the sockets of endpoints.
package protocol EndpointSockets: Sendable {
  /// Listens on new socket files for `narrowing`'s endpoint, whose calls are of `maker`. `process`: it alone may
  /// connect.
  func open(_ endpoint: EndpointSocketRequest) async throws(EndpointSocketError) -> OpenedEndpoint
  /// Stops listening, and removes the files. It closes no connections.
  func close(_ id: String)
}

/// The sockets that an endpoint needs.
package struct EndpointSocketRequest: Sendable {
  package let narrowing: Narrowing
  package let maker: Peer
  /// The process that alone may connect.
  package let process: Int32?
  /// Whether a connected descriptor is wanted.
  package let wantsDescriptor: Bool
  /// Whether a second socket that speaks HTTP is wanted.
  package let wantsHTTP: Bool

  package init(narrowing: Narrowing, maker: Peer, process: Int32?, wantsDescriptor: Bool, wantsHTTP: Bool) {
    self.narrowing = narrowing
    self.maker = maker
    self.process = process
    self.wantsDescriptor = wantsDescriptor
    self.wantsHTTP = wantsHTTP
  }
}

/// The sockets of an endpoint.
package struct OpenedEndpoint: Sendable {
  package let path: String?
  package let httpPath: String?
  /// A connected descriptor, to be passed to the maker and closed.
  package let descriptor: PassedDescriptor?

  package init(path: String?, httpPath: String?, descriptor: PassedDescriptor?) {
    self.path = path
    self.httpPath = httpPath
    self.descriptor = descriptor
  }
}

/// Why an endpoint has no sockets.
package enum EndpointSocketError: Error, Sendable, Hashable {
  /// There is no directory for socket files: the main socket was inherited, say.
  case noDirectory
  /// The gateway is off.
  case noGateway
  /// No such process, or one that cannot be watched.
  case noProcess
  /// Too many endpoints, or no descriptor is left.
  case exhausted
  /// The file system has no space for a socket file.
  case full(String)
  /// A system call failed.
  case failed(String)
}
