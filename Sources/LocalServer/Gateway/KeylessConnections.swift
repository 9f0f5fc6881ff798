import PosternRuntime
import PosternSupport

/// The connections of the loopback address that have shown no key yet: whoever can connect to the address may have such,
/// so they give their places to newer ones.
struct KeylessConnections: Sendable {
  /// How many there may be.
  let limit: Int
  /// In the order in which they came, each with its event loop.
  private var ids: [(id: UInt64, loop: ObjectIdentifier)] = []

  init(limit: Int) { self.limit = limit }

  /// The one that gives its place to a newer one: the oldest, or, with `loop`, the oldest on that event loop.
  func oldest(on loop: EpollLoop? = nil) -> UInt64? {
    guard let loop else { return ids.first?.id }
    return ids.first { $0.loop == ObjectIdentifier(loop) }?.id
  }

  /// Whether it is full.
  var isFull: Bool { ids.count >= limit }

  mutating func append(_ id: UInt64, on loop: EpollLoop) { ids.append((id, ObjectIdentifier(loop))) }

  /// The connection has shown its key, or is over; false: it had to go before.
  mutating func remove(_ id: UInt64) -> Bool {
    guard let index = ids.firstIndex(where: { $0.id == id }) else { return false }
    ids.remove(at: index)
    return true
  }
}

extension GatewayServer {
  /// For a connection that gives its place to a newer one.
  static let replaced = RequestRejection(
    "there are too many connections to the address without a key, and newer ones", status: 503, .overloaded)

  /// Notes that a connection has shown its key; false: it had to give its place to another one.
  func showsKey(_ id: UInt64) -> Bool { state.withLock { $0.keyless.remove(id) } }
}

extension GatewayServer.State {
  /// Decides about a connection on the loopback address that `loop` will serve. `replaced`: the connection that gives
  /// its place to it. While a busy loop has not closed those that it should, `loop` gives one of its own.
  mutating func admitOnLoopback(
    _ loop: EpollLoop
  ) -> (decision: ConnectionLimits.Decision, replaced: HTTPConnection?) {
    guard keyless.isFull || !limits.admits(uid: GatewayServer.loopbackUid),
      let oldest = limits.manyLeave ? keyless.oldest(on: loop) : keyless.oldest(),
      let connection = open[oldest], let id = limits.replace()
    else { return (limits.admit(uid: GatewayServer.loopbackUid), nil) }
    _ = keyless.remove(oldest)
    replaced.insert(oldest)
    return (.admitted(id: id), connection)
  }

  /// Takes a connection out of the counts.
  mutating func release(_ id: UInt64, uid: UInt32, isStranger: Bool) {
    if replaced.remove(id) != nil { limits.releaseReplaced() } else { limits.release(uid: uid, isStranger: isStranger) }
  }
}
