/// The parameters of an authorization request (RFC 6749 section 4.1.1, OpenID Connect Core section 3.1.2.1).
public struct AuthorizationRequest: Sendable {
  /// Where the issuer sends the user back to.
  public var redirectURI: String
  /// The scope; nil: the issuer's own.
  public var scope: String?
  /// `prompt`.
  public var prompt: String?
  /// `acr_values`; the ID token's `acr` must be one of them.
  public var acrValues: [String]
  /// `max_age` in seconds; the ID token's `auth_time` must keep it.
  public var maxAge: Int?
  /// `login_hint`.
  public var loginHint: String?
  /// `resource` (RFC 8707).
  public var resource: String?

  /// A request without further parameters.
  public init(redirectURI: String) {
    self.redirectURI = redirectURI
    acrValues = []
  }
}
