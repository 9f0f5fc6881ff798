import PosternSupport

extension SessionGrant {
  /// The type of an access token as a subject (RFC 8693 section 3).
  static let accessTokenType = "urn:ietf:params:oauth:token-type:access_token"

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
    var form: [(name: String, value: String)]
    switch self {
    case .tokens, .sso, .implicit: return nil
    case .refreshToken(let token):
      // RFC 6749 section 6: without `scope` the token has what was granted; to ask for more is an error.
      return [(name: "grant_type", value: "refresh_token"), (name: "refresh_token", value: token.reveal())]
    case .tokenExchange(let subject, let type, let actor):
      form = [
        (name: "grant_type", value: "urn:ietf:params:oauth:grant-type:token-exchange"),
        (name: "subject_token", value: subject.reveal()),
        (name: "subject_token_type", value: type ?? Self.accessTokenType),
      ]
      if let actor {
        form.append((name: "actor_token", value: actor.reveal()))
        form.append((name: "actor_token_type", value: Self.accessTokenType))
      }
    case .jwtBearer(let assertion):
      form = [
        (name: "grant_type", value: "urn:ietf:params:oauth:grant-type:jwt-bearer"),
        (name: "assertion", value: assertion.reveal()),
      ]
    case .deviceCode(let code):
      return [
        (name: "grant_type", value: "urn:ietf:params:oauth:grant-type:device_code"),
        (name: "device_code", value: code.reveal()),
      ]
    case .authorizationCode(let code, let verifier, let redirectURI):
      form = [
        (name: "grant_type", value: "authorization_code"), (name: "code", value: code.reveal()),
        (name: "redirect_uri", value: redirectURI),
      ]
      if let verifier { form.append((name: "code_verifier", value: verifier.reveal())) }
      return form
    }
    if let scope { form.append((name: "scope", value: scope)) }
    return form
  }
}
