import JSON
import Protocol
import Support

/// All connections, for what concerns more than one: events and draining.
final class EventHub: Sendable {
  private let callers = Locked<[UInt64: Caller]>([:])
  private let clock: any EngineClock

  init(clock: any EngineClock) { self.clock = clock }

  func add(_ caller: Caller) { callers.withLock { $0[caller.connection] = caller } }

  @discardableResult
  func remove(_ connection: UInt64) -> Caller? { callers.withLock { $0.removeValue(forKey: connection) } }

  var connections: [Caller] { callers.withLock { Array($0.values) } }

  /// Tells every subscribed connection whose peer `isVisible`; `at` is added.
  func publish(_ event: EventName, _ members: JSONObject = JSONObject(), to isVisible: (Peer) -> Bool = { _ in true }) {
    var params: JSONObject = ["at": .string(clock.wallNow.rfc3339)]
    for member in members.members { params[member.name] = member.value }
    for caller in connections where isVisible(caller.peer) { caller.notify(event, .object(params)) }
  }
}
