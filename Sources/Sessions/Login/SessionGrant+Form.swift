import OAuthClient
import PosternSupport

extension SessionGrant {
  /// Whether the issuer's configured scope is requested when the call has none: other grants have a scope already.
  var requestsScope: Bool {
    switch self {
    case .tokenExchange, .jwtBearer: true
    case .tokens, .refreshToken, .deviceCode, .authorizationCode, .implicit, .sso: false
    }
  }

  /// The form's members that request the session's first token, without those of client authentication; nil where
  /// nothing is requested.
  func form(scope: String?) -> [(name: String, value: String)]? {
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
  var loneSSOToken: Secret<String>? {
    switch self {
    case .sso(let token): token
    case .tokens(let given) where given.accessToken == nil && given.refreshToken == nil && given.idToken == nil:
      given.ssoToken
    default: nil
    }
  }
}
