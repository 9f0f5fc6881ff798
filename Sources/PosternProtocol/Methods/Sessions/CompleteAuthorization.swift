public import PosternJSONRPC

/// `completeAuthorization`: the second half of a login.
public enum CompleteAuthorization: RPCMethod {
  public static let name = "completeAuthorization"
  public static let bounds: PeerBounds = .issuers
  public static let summary = "Ends a login with the URL the issuer sent the user back to"
  public static let explanation =
    "state, the issuer's name (RFC 9207), the code and the ID token with its nonce are all checked. A state is good for one try."
  public static let resultSummary = "The session"
  public static let errors: [RPCErrorCode] = [
    .tokenEndpointError, .tokenEndpointUnreachable, .authorizationFailed, .stateUnknown, .storeUnavailable,
    .sessionIssuerUnknown, .grantNotSupported,
  ]

  public struct Params: RPCObject {
    public var callbackUrl: String

    public static let memberDocs = [
      "callbackUrl": "The whole URL, with its query"
    ]
  }

  public typealias Result = SessionDescription
}
