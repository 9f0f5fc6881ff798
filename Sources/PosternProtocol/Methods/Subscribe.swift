/// `subscribe`: events as notifications on this connection.
public enum Subscribe: RPCMethod {
  public static let name = "subscribe"
  public static let bounds: PeerBounds = .all
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
