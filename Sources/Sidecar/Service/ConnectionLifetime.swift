import PosternJSONRPC
import PosternObservability
import PosternSupport

/// Opens and closes connections, and drains them at the end.
final class ConnectionLifetime: Sendable {
  let calls: CallEnvironment
  /// Carries out the fetches of programs without a JSON-RPC connection.
  let fetches: FetchResourceHandler
  private let hub: EventHub
  private let running: RunningConfiguration
  let endpoints: EndpointRegistry
  let pool: FairPool
  private let draining = Locked(false)

  init(
    _ calls: CallEnvironment, _ hub: EventHub, _ running: RunningConfiguration, _ fetches: FetchResourceHandler,
    _ endpoints: EndpointRegistry, pool: FairPool
  ) {
    self.calls = calls
    self.fetches = fetches
    self.hub = hub
    self.running = running
    self.endpoints = endpoints
    self.pool = pool
  }

  /// Opens the JSON-RPC connection of a new socket connection.
  func open(
    connection: UInt64, peer: Peer, output: JSONRPCConnection.Output, _ narrowing: Narrowing?
  ) -> JSONRPCConnection {
    let runtime = running.current
    if peer.uid == runtime.access.unmapped.uid { calls.log.connections.cannotTell(peer) }
    let caller = PeerConnection(
      connection: connection, peer: peer, openedAt: calls.clock.monotonicNow, narrowing: narrowing,
      poster: output.poster)
    var output = output
    output.longWork = { [pool] in caller.executor(in: pool) }
    let conversation = JSONRPCConnection(
      limits: runtime.limits, dispatcher: CallChain(caller: caller, environment: calls), output: output)
    caller.attach(conversation)
    hub.add(caller)
    calls.log.metrics.connectionOpened()
    // It may have been opened while `drain` went through the others.
    if isDraining { conversation.drain() }
    // Or while its endpoint ended.
    if let narrowing, narrowing.isOver(at: calls.clock.monotonicNow) { conversation.finish() }
    return conversation
  }

  /// Cancels what the connection alone owned.
  func closed(connection: UInt64, conversation: JSONRPCConnection) {
    // First, so that what is cancelled sees that its connection is gone.
    let caller = hub.remove(connection)
    caller?.attach(nil)
    conversation.close()
    endpoints.connectionClosed(connection, caller?.narrowing)
  }

  /// Whether no new requests are accepted any more.
  var isDraining: Bool { draining.withLock { $0 } }

  /// Accepts no new requests from here on.
  func drain() {
    draining.withLock { $0 = true }
    endpoints.drain()
    for caller in hub.connections { caller.conversation?.drain() }
  }

  /// Stops the calls that are still pending; returns their number.
  func finish() -> Int {
    let conversations = hub.connections.compactMap(\.conversation)
    let count = conversations.reduce(0) { $0 + $1.inFlightCount }
    for conversation in conversations { conversation.finish() }
    return count
  }
}
