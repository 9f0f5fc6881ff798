/// `registerDelegate`: this connection answers the sidecar's own requests.
public enum RegisterDelegate: RPCMethod {
  public static let name = "registerDelegate"
  public static let bounds: PeerBounds = []
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
}
