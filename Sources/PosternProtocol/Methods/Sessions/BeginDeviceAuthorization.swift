public import PosternJSONRPC

/// `beginDeviceAuthorization`: a login on another device.
public enum BeginDeviceAuthorization: RPCMethod {
  public static let name = "beginDeviceAuthorization"
  public static let bounds: PeerBounds = .issuers
  public static let summary = "Begins a login on another device (RFC 8628)"
  public static let resultSummary = "The code and the URL to show to the user"
  public static let errors: [RPCErrorCode] = [
    .tokenEndpointError, .tokenEndpointUnreachable, .storeUnavailable, .sessionIssuerUnknown, .grantNotSupported,
  ]

  public struct Params: RPCObject {
    public var issuer: String
    public var scope: String?

    public static let memberDocs = [
      "issuer": "A configured issuer's name",
      "scope": "The scope; default: the issuer's, and what its users' resources need",
    ]
  }

  public struct Result: RPCObject {
    public var handle: String
    public var userCode: String
    public var verificationUri: String
    public var verificationUriComplete: String?
    public var expiresAt: String
    public var intervalMs: Int64

    /// A result of the given parts.
    public init(
      handle: String, userCode: String, verificationUri: String, verificationUriComplete: String?, expiresAt: String,
      intervalMs: Int64
    ) {
      self.handle = handle
      self.userCode = userCode
      self.verificationUri = verificationUri
      self.verificationUriComplete = verificationUriComplete
      self.expiresAt = expiresAt
      self.intervalMs = intervalMs
    }

    public static let memberDocs = [
      "handle": "The handle to pass to completeDeviceAuthorization",
      "userCode": "The code that the user types",
      "verificationUri": "The page on which the user types it",
      "verificationUriComplete": "The same with the code in it, for a link or a QR code",
      "expiresAt": "When the code expires",
      "intervalMs": "How long to wait between two questions",
    ]
  }
}
