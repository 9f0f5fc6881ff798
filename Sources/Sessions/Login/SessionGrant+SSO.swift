import PosternSupport

extension SessionGrant {
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
