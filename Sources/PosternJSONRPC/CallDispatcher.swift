public import PosternJSON
public import PosternSupport

/// The result of dispatching a call: a response at once, or work that may wait.
public enum Dispatch: Sendable {
  /// Answered without waiting for anything.
  case answered(Result<RPCResult, RPCFault>)
  /// Work in a task; cancelled through it.
  case work(@Sendable () async -> Result<RPCResult, RPCFault>)
  /// Work without a task.
  case begun(any BegunCall)

  /// Carries the call out, where nothing else has, and returns its outcome. Cancelling the calling task cancels the call.
  public func outcome() async -> Result<RPCResult, RPCFault> {
    switch self {
    case .answered(let outcome): outcome
    case .work(let work): await work()
    case .begun(let call): await call.outcome()
    }
  }
}

/// A call that comes to its end without a task of its own.
public protocol BegunCall: AnyObject, Sendable {
  /// Carries the call out; once. `end` is called with the outcome, once, on any thread, perhaps before this returns.
  func run(_ end: @escaping @Sendable (Result<RPCResult, RPCFault>) -> Void)
  /// Cancels the call, which then ends soon. May be called from any thread, before the call runs and after it has ended.
  func cancel()
}

/// Carries out the calls of one connection.
public protocol CallDispatcher: Sendable {
  /// Looks at `call` and answers or starts it. Called in the order of arrival; must not block.
  func dispatch(_ call: Call) -> Dispatch
  /// Whether a call of `method` would be rejected now whatever its params are. Called for large messages before they
  /// are parsed.
  func rejects(method: String) -> Bool
  /// Whether a call of `method` decides about those behind it, which must not be dispatched before.
  func bindsWhatFollows(_ method: String) -> Bool
  /// How many of the descriptors that the peer has passed a call claims, whatever becomes of it.
  func descriptorCount(of method: String, _ params: JSONTree?) -> Int
  /// A call was rejected without being dispatched, because the connection has too many in flight.
  func rejectedUnread()
  /// A message was rejected that is no call: no JSON, no request, too large. Called for the first one of each kind of
  /// error on the connection. `reason` quotes nothing of it.
  func rejectedMessage(_ reason: String)
}

extension CallDispatcher {
  /// Looks at the whole call.
  public func rejects(method: String) -> Bool { false }

  /// No call does.
  public func bindsWhatFollows(_ method: String) -> Bool { false }

  /// Does nothing.
  public func rejectedMessage(_ reason: String) {}

  /// None.
  public func descriptorCount(of method: String, _ params: JSONTree?) -> Int { 0 }
}

/// One request or notification to carry out.
public struct Call: Sendable {
  /// Unique within the connection.
  public let key: UInt64
  /// Nil for a notification.
  public let id: RPCID?
  /// The method's name, not yet known to exist.
  public let method: String
  /// The params, an object, or nil.
  public let params: JSONTree?
  /// How long the text is that it came in; of a batch, the whole one.
  public var byteCount = 0
  /// Where in a batch it came; 0 for a call by itself.
  let position: Int
  /// The descriptors that it has claimed.
  public var descriptors: [PassedDescriptor] = []
  /// The peer does not keep up with what is written for it: nothing of the call may be begun before it does.
  public var mustWait = false
  /// The params were not read, because the call would be rejected in any case; it must not be carried out.
  public var isUnread = false

  /// A call of the given parts.
  public init(key: UInt64, id: RPCID?, method: String, params: JSONTree?, position: Int = 0) {
    self.key = key
    self.id = id
    self.method = method
    self.params = params
    self.position = position
  }
}
