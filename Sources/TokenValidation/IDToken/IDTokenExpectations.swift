public import JOSE
public import PosternSupport

/// What one call asks of an ID token.
public struct IDTokenExpectations: Sendable {
  /// The client the token must be for.
  public var clientID: String
  /// The nonce of the authorization request. Nil: none was sent, and one in the token is nobody's business.
  public var nonce: String?
  /// The authorization code, to compare with `c_hash`.
  public var authorizationCode: Secret<String>?
  /// The access token, to compare with `at_hash`.
  public var accessToken: Secret<String>?
  /// The `state` of the authorization request, to compare with `s_hash`.
  public var state: String?
  /// How long ago the user may have authenticated at most.
  public var maxAge: Duration?
  /// The authentication contexts of which the token must have one; empty: any will do.
  public var acrValues: [String]
  /// Signature algorithms; may only narrow what is configured.
  public var algorithms: [SignatureAlgorithm]?
  /// How the token was obtained.
  public var flow: TokenFlow
  /// Replaces the configured audiences beside the client.
  public var trustedAudiences: [String]?
  /// Replaces the configured clock skew; at most 300 s.
  public var clockSkew: Duration?
  /// Replaces the configured demand for `azp`.
  public var requiresAuthorizedParty: Bool?
  /// The time to judge by; nil: now.
  public var now: Timestamp?

  /// Expectations of the given parts; the others keep their defaults until they are set.
  public init(
    clientID: String, nonce: String? = nil, authorizationCode: Secret<String>? = nil,
    accessToken: Secret<String>? = nil, flow: TokenFlow = .code
  ) {
    self.clientID = clientID
    self.nonce = nonce
    self.authorizationCode = authorizationCode
    self.accessToken = accessToken
    self.flow = flow
    acrValues = []
  }
}
