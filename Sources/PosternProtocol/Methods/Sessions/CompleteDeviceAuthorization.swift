public import PosternJSONRPC

/// `completeDeviceAuthorization`: checks whether the user has decided.
public enum CompleteDeviceAuthorization: RPCMethod {
  public static let name = "completeDeviceAuthorization"
  public static let bounds: PeerBounds = .issuers
  public static let summary = "Checks whether the user has decided"
  public static let explanation =
    "Answers authorization_pending with retryAfterMs until then; a call before that sends no request to the issuer."
  public static let resultSummary = "The session"
  public static let errors: [RPCErrorCode] = [
    .tokenEndpointError, .tokenEndpointUnreachable, .authorizationFailed, .stateUnknown, .authorizationPending,
    .storeUnavailable, .sessionIssuerUnknown, .grantNotSupported,
  ]

  public struct Params: RPCObject {
    public var handle: String

    public static let memberDocs = [
      "handle": "The handle that beginDeviceAuthorization returned"
    ]
  }

  public typealias Result = SessionDescription
}
