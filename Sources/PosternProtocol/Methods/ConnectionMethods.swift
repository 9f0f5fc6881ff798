public import PosternJSON

/// `subscribe`: events as notifications on this connection.
public enum Subscribe: RPCMethod {
  public static let name = "subscribe"
  public static let bounds: PeerBounds = .all
  public static let chain: ChainRule = .checked
  public static let traits: MethodTraits = .needsConnection
  public static let summary = "Sends the named events to this connection from now on"
  public static let explanation =
    "Events arrive as notifications whose method is the event's name. No connection gets any without asking."
  public static let resultSummary = "The events this connection is subscribed to now"

  public struct Params: RPCObject {
    public let events: [EventName]

    public static let memberDocs = ["events": "The events' names"]
  }

  public struct Result: RPCObject {
    public let subscribed: [EventName]

    /// The events that the connection is subscribed to.
    public init(subscribed: [EventName]) { self.subscribed = subscribed }

    public static let memberDocs = ["subscribed": "Every event this connection is subscribed to now"]
  }
}

/// `unsubscribe`: the opposite of `subscribe`.
public enum Unsubscribe: RPCMethod {
  public typealias Params = Subscribe.Params
  public typealias Result = Subscribe.Result
  public static let name = "unsubscribe"
  public static let bounds: PeerBounds = []
  public static let chain: ChainRule = .checked
  public static let traits: MethodTraits = .needsConnection
  public static let summary = "Stops the named events on this connection"
  public static let resultSummary = "The events this connection is still subscribed to"
}

/// The events of the wire contract, section 7.
public enum EventName: String, SchemaEnumeration, Sendable, Hashable {
  case sessionRefreshed = "event.sessionRefreshed"
  case sessionEnded = "event.sessionEnded"
  case sessionExpiring = "event.sessionExpiring"
  case keysRotated = "event.keysRotated"
  case configReloaded = "event.configReloaded"
  case healthChanged = "event.healthChanged"
}

/// `registerDelegate`: this connection answers the sidecar's own requests.
public enum RegisterDelegate: RPCMethod {
  public static let name = "registerDelegate"
  public static let bounds: PeerBounds = []
  public static let chain: ChainRule = .open
  public static let traits: MethodTraits = .needsConnection
  public static let summary = "This connection answers the named requests of the sidecar from now on"
  public static let explanation =
    "Replaces what the connection registered before. No answer in time, or an error, means the request's default."
  public static let resultSummary = "The requests that the connection answers now"

  public struct Params: RPCObject {
    public let methods: [DelegateMethod]

    public static let memberDocs = ["methods": "The requests this connection answers"]
  }

  public struct Result: RPCObject {
    public let registered: [DelegateMethod]

    /// The registered methods.
    public init(registered: [DelegateMethod]) { self.registered = registered }

    public static let memberDocs = ["registered": "The requests this connection is registered for"]
  }
}

/// The requests the sidecar sends to a caller that registered for them (wire.md section 6).
public enum DelegateMethod: String, SchemaEnumeration, Sendable, Hashable {
  case onPolicyAdviceReceived = "delegate.onPolicyAdviceReceived"
  case evaluateAuthorizationPolicy = "delegate.evaluateAuthorizationPolicy"
  case updateRequest = "delegate.updateRequest"
  case evaluateTokenRefresh = "delegate.evaluateTokenRefresh"
  case approveCall = "delegate.approveCall"
}

/// `$/cancelRequest` (LSP base protocol): a notification that ends a request of the same connection.
///
/// The session machine carries it out; this type documents it.
public enum CancelRequest: RPCMethod {
  public typealias Result = NoParams
  public static let name = "$/cancelRequest"
  public static let bounds: PeerBounds = []
  public static let chain: ChainRule = .open
  public static let summary = "Ends a request of this connection with -32800"
  public static let explanation =
    "A notification. Sent for a request that has ended already, or never was, it does nothing."
  public static let resultSummary = ""
  public static let isNotification = true

  public struct Params: RPCObject {
    public let id: JSONValue

    public static let memberDocs = ["id": "The id of the request to end, a string or an integer"]
  }
}
