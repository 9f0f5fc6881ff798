public import PosternJSONRPC

/// `endSession`: ends a session.
public enum EndSession: RPCMethod {
  public static let name = "endSession"
  public static let bounds: PeerBounds = .issuers
  public static let summary = "Ends a session, here at once and then at the issuer"
  public static let explanation =
    "Its tokens are revoked (RFC 7009) and the end of the session is reported to the issuer. Here it is gone even when the network fails."
  public static let resultSummary = "Result of the logout at the issuer"
  public static let errors: [RPCErrorCode] = [.sessionNotFound, .storeUnavailable]

  public struct Params: RPCObject {
    public var session: String

    public static let memberDocs = [
      "session": "The session's handle"
    ]
  }

  /// The outcome at the issuer.
  public enum Upstream: String, SchemaEnumeration, Sendable {
    case ended, failed, none
  }

  public struct Result: RPCObject {
    public var ended: Bool
    public var upstream: Upstream

    /// A result of the given parts.
    public init(ended: Bool, upstream: Upstream) {
      self.ended = ended
      self.upstream = upstream
    }

    public static let memberDocs = [
      "ended": "true: it is gone here",
      "upstream": "ended, failed, or none when there was nothing to end at the issuer",
    ]
  }
}
