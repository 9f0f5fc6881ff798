public import PosternSupport

/// The grant that a session is created from.
public enum SessionGrant: Sendable, CustomStringConvertible {
  /// Tokens that the caller got elsewhere.
  case tokens(GivenTokens)
  /// A refresh token (RFC 6749 section 6).
  case refreshToken(Secret<String>)
  /// Token exchange (RFC 8693).
  case tokenExchange(subjectToken: Secret<String>, subjectTokenType: String?, actorToken: Secret<String>?)
  /// An assertion about the user (RFC 7523 section 2.1).
  case jwtBearer(assertion: Secret<String>)
  /// An authorization code (RFC 6749 section 4.1.3), with the verifier of PKCE where one was used.
  case authorizationCode(code: Secret<String>, codeVerifier: Secret<String>?, redirectURI: String)

  /// A single sign-on token of the access manager behind the issuer.
  case sso(Secret<String>)
  /// The subject of an earlier user session of the same uid: logged in without the user, by client authentication.
  case implicit(profile: String)

  /// A device code whose user has decided (RFC 8628 section 3.4).
  case deviceCode(Secret<String>)

  /// The name of the case: never a token.
  public var description: String { Mirror(reflecting: self).children.first?.label ?? "grant" }

  /// Tokens that came from elsewhere; at least an access token, a refresh token or an SSO token.
  public struct GivenTokens: Sendable, ConciseStringConvertible {
    /// An access token.
    public var accessToken: Secret<String>?
    /// A refresh token.
    public var refreshToken: Secret<String>?
    /// An ID token.
    public var idToken: String?
    /// The access token's life in seconds from now.
    public var expiresIn: Int?
    /// The scope that was granted.
    public var scope: String?
    /// A single sign-on token of an access manager.
    public var ssoToken: Secret<String>?
    /// Never a token.
    public var description: String { Concise.text("given tokens", scope.map { "scope \(Concise.name($0))" }) }

    /// No tokens.
    public init() {}
  }
}
