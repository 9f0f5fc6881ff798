package import PosternJSON
package import PosternProtocol
package import PosternSupport

/// How many connections speak HTTP.
struct HTTPConnectionCounts {
  /// On the socket of JSON-RPC, and on those of endpoints that speak both.
  private(set) var onRPCSockets = 0
  /// By endpoint.
  private(set) var atEndpoints: [String: Int] = [:]

  mutating func change(by count: Int, at endpoint: String?, _ isOnRPCSocket: Bool) {
    if isOnRPCSocket { onRPCSockets += count }
    guard let endpoint else { return }
    let rest = (atEndpoints[endpoint] ?? 0) + count
    atEndpoints[endpoint] = rest == 0 ? nil : rest
  }
}

/// All connections, for what concerns more than one: events and draining.
package final class EventHub: Sendable {
  private let callers = Locked<[UInt64: PeerConnection]>([:])
  private let otherCalls = Locked(0)
  let httpConnections = Locked(HTTPConnectionCounts())
  private let access = Locked(AccessRules(rules: [], ownUID: 0))
  private let clock: any EngineClock

  package init(clock: any EngineClock) { self.clock = clock }

  package func add(_ caller: PeerConnection) { callers.withLock { $0[caller.connection] = caller } }

  @discardableResult
  package func remove(_ connection: UInt64) -> PeerConnection? {
    callers.withLock { $0.removeValue(forKey: connection) }
  }

  package var connections: [PeerConnection] { callers.withLock { Array($0.values) } }

  /// How many calls are under way that came on none of these connections.
  var otherCallCount: Int { otherCalls.withLock { $0 } }

  /// Carries out a call that came on none of these connections.
  package func counted<Outcome>(_ call: () async -> Outcome) async -> Outcome {
    otherCallBegins()
    defer { otherCallEnds() }
    return await call()
  }

  /// A call begins that came on none of these connections.
  func otherCallBegins() { otherCalls.withLock { $0 += 1 } }

  /// Such a call has ended.
  func otherCallEnds() { otherCalls.withLock { $0 -= 1 } }

  /// From here on `rules` say which connections may hear of what.
  package func use(_ rules: AccessRules) { access.withLock { $0 = rules } }

  /// The scopes of the connections that are subscribed to `event`; those whose peers no rule matches have none.
  package func scopes(of event: EventName) -> Set<PeerScope> {
    let access = access.withLock { $0 }
    return Set(connections.filter { $0.isSubscribed(to: event) }.compactMap { scope(of: $0, access) })
  }

  /// The scope of a connection: that of its peer's rule, within its chain; nil: it sees nothing.
  private func scope(of caller: PeerConnection, _ access: AccessRules) -> PeerScope? {
    guard let scope = access.scope(of: caller.peer) else { return nil }
    guard let narrowing = caller.narrowing else { return scope }
    return narrowing.isOver(at: clock.monotonicNow) ? nil : narrowing.scope(within: scope)
  }

  /// Sends an event to every subscribed connection whose peer has a rule that `isShown` accepts, as far as the
  /// connection's chain goes, and the uid `owner` where that is given; `at` is added. An event about a session goes to
  /// those that may use it.
  package func publish(
    _ event: EventName, _ members: JSONObject = JSONObject(), to uid: UInt32? = nil, about session: String? = nil,
    where isShown: (PeerScope) -> Bool = { _ in true }
  ) {
    var params: JSONObject = ["at": .string(clock.wallNow.rfc3339)]
    for member in members.members { params[member.name] = member.value }
    let access = access.withLock { $0 }
    for caller in connections where uid ?? caller.peer.uid == caller.peer.uid && caller.isSubscribed(to: event) {
      guard let scope = scope(of: caller, access), isShown(scope) else { continue }
      if let session, caller.narrowing?.effective.allows(session: session) == false { continue }
      caller.notify(event, .object(params))
    }
  }
}
