import PosternJSON
package import PosternJSONRPC
package import PosternProtocol
package import PosternSupport

/// One connection as the handlers see it: who it is, what it subscribed to, which delegate requests it answers.
package final class PeerConnection: Sendable {
  private struct State {
    var events: Set<EventName> = []
    var delegates: Set<DelegateMethod> = []
    var conversation: JSONRPCConnection?
    /// There are two pools at most.
    var executors: [(pool: ObjectIdentifier, executor: PoolExecutor)] = []
    var narrowing: Narrowing?
    var narrowCount = 0
  }

  /// Unique in this process.
  package let connection: UInt64
  package let peer: Peer
  /// When it came.
  package let openedAt: MonotonicInstant
  /// The uid and the connection of its calls.
  package var peerID: PeerID { PeerID(uid: peer.uid, connection: connection) }
  /// Whether it stays for events and questions; false: each call is a request over HTTP.
  package let stays: Bool
  /// Where its calls continue that run without a task; nil: where what they wait for ends.
  package let poster: (any WorkPoster)?
  private let state: Locked<State>

  /// `peer` is who the calls are of: at an endpoint its maker, not the process that connects to it.
  package init(
    connection: UInt64, peer: Peer, openedAt: MonotonicInstant, narrowing: Narrowing? = nil,
    poster: (any WorkPoster)? = nil, stays: Bool = true
  ) {
    self.connection = connection
    self.poster = poster
    self.stays = stays
    self.peer = peer
    self.openedAt = openedAt
    state = Locked(State(narrowing: narrowing))
  }

  /// The last level of its chain; nil: the peer's rule alone decides.
  package var narrowing: Narrowing? { state.withLock { $0.narrowing } }

  /// Adds a level, for good; false when it is not one under the last.
  package func narrow(to narrowing: Narrowing) -> Bool {
    state.withLock { state in
      guard narrowing.parent === state.narrowing else { return false }
      state.narrowing = narrowing
      return true
    }
  }

  /// Whether a further `narrow` is counted by no rate.
  var hasFreeNarrow: Bool { state.withLock { $0.narrowCount < Narrowing.maxDepth } }

  /// Counts a `narrow`, whatever comes of it.
  func countNarrow() { state.withLock { $0.narrowCount += 1 } }

  /// Given once the conversation exists; taken away when the connection is gone.
  package func attach(_ conversation: JSONRPCConnection?) { state.withLock { $0.conversation = conversation } }

  package var conversation: JSONRPCConnection? { state.withLock { $0.conversation } }

  /// Its share of the threads of `pool`, which lives as long as the service.
  package func executor(in pool: FairPool) -> PoolExecutor {
    state.withLock { state in
      if let known = state.executors.first(where: { $0.pool == ObjectIdentifier(pool) }) { return known.executor }
      let executor = pool.executor(for: peer.uid)
      state.executors.append((ObjectIdentifier(pool), executor))
      return executor
    }
  }

  /// The subscribed events after `change`, in the documented order.
  package func events(_ change: (inout Set<EventName>) -> Void) -> [EventName] {
    let events = state.withLock { state in
      change(&state.events)
      return state.events
    }
    return EventName.allCases.filter(events.contains)
  }

  /// Replaces what it registered.
  package func register(_ delegates: Set<DelegateMethod>) { state.withLock { $0.delegates = delegates } }

  /// The conversation to send a request in, when this connection answers `method`.
  package func delegate(for method: DelegateMethod) -> JSONRPCConnection? {
    state.withLock { $0.delegates.contains(method) ? $0.conversation : nil }
  }

  /// Whether it is subscribed to the event.
  func isSubscribed(to event: EventName) -> Bool { state.withLock { $0.events.contains(event) } }

  /// Sends an event if it is subscribed to.
  func notify(_ event: EventName, _ params: JSONValue) {
    let conversation = state.withLock { $0.events.contains(event) ? $0.conversation : nil }
    conversation?.notify(event.rawValue, params)
  }
}
