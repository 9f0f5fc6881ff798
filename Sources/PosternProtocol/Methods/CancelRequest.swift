public import PosternJSON

/// `$/cancelRequest` (LSP base protocol): a notification that ends a request of the same connection.
///
/// The session machine carries it out; this type documents it.
public enum CancelRequest: RPCMethod {
  public typealias Result = NoParams
  public static let name = "$/cancelRequest"
  public static let bounds: PeerBounds = []
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
