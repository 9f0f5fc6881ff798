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

extension SessionGrant {
  /// Whether the issuer's configured scope is requested when the call has none: other grants have a scope already.
  package var requestsScope: Bool {
    switch self {
    case .tokenExchange, .jwtBearer: true
    case .tokens, .refreshToken, .deviceCode, .authorizationCode, .implicit, .sso: false
    }
  }

  /// The form's members that request the session's first token, without those of client authentication; nil where
  /// nothing is requested.
  package func form(scope: String?) -> [(name: String, value: String)]? {
    var form: GrantForm.Members
    switch self {
    case .tokens, .sso, .implicit: return nil
    // RFC 6749 section 6: without `scope` the token has what was granted; to request more is an error.
    case .refreshToken(let token): return GrantForm.refreshToken(token.reveal())
    case .deviceCode(let code): return GrantForm.deviceCode(code.reveal())
    case .authorizationCode(let code, let verifier, let redirectURI):
      return GrantForm.authorizationCode(code.reveal(), verifier: verifier?.reveal(), redirectURI: redirectURI)
    case .tokenExchange(let subject, let type, let actor):
      form = GrantForm.tokenExchange(
        subject: subject.reveal(), type: type ?? GrantForm.accessTokenType, actor: actor?.reveal())
    case .jwtBearer(let assertion): form = GrantForm.jwtBearer(assertion: assertion.reveal())
    }
    if let scope { form.append((name: "scope", value: scope)) }
    return form
  }

  /// The single sign-on token from which alone a session is to be made.
  package var loneSSOToken: Secret<String>? {
    switch self {
    case .sso(let token): token
    case .tokens(let given) where given.accessToken == nil && given.refreshToken == nil && given.idToken == nil:
      given.ssoToken
    default: nil
    }
  }
}
