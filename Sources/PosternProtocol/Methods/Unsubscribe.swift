/// `unsubscribe`: the opposite of `subscribe`.
public enum Unsubscribe: RPCMethod {
  public typealias Params = Subscribe.Params
  public typealias Result = Subscribe.Result
  public static let name = "unsubscribe"
  public static let bounds: PeerBounds = []
  public static let summary = "Stops the named events on this connection"
  public static let resultSummary = "The events this connection is still subscribed to"
}
