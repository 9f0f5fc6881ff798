public import PosternJSONRPC

/// `invalidateDecisions`: forget what was decided.
public enum InvalidateDecisions: RPCMethod {
  public static let name = "invalidateDecisions"
  public static let bounds: PeerBounds = [.issuers, .preauthorization]
  public static let summary = "Removes decisions from the cache, after a purchase for example"
  public static let explanation =
    "Only the calling user's own are removed. Decisions that are being requested at this moment are not cached either."
  public static let resultSummary = "How many were forgotten"
  public static let errors: [RPCErrorCode] = [.sessionNotFound, .storeUnavailable]

  public struct Params: RPCObject {
    public var provider: String?
    public var session: String?
    public var resources: [String]?

    public static let memberDocs = [
      "provider": "Only those of this decision point",
      "session": "Only those about this session's user",
      "resources": "Only those about these resources",
    ]
  }

  public struct Result: RPCObject {
    public let removed: Int

    /// A result of the given parts.
    public init(removed: Int) { self.removed = removed }

    public static let memberDocs = ["removed": "How many were forgotten"]
  }
}
