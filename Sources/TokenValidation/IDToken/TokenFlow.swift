/// How an ID token was obtained, which decides what it must say beside the common rules.
public enum TokenFlow: Sendable, Hashable {
  /// From the token endpoint, for an authorization code (OpenID Connect Core section 3.1).
  case code
  /// From the authorization endpoint, without a code (section 3.2).
  case implicit
  /// From the authorization endpoint, beside a code (section 3.3). `other` is the token endpoint's ID token of the same
  /// authorization, where it is there to be compared.
  case hybrid(other: String? = nil)
  /// From the token endpoint, for a refresh token (section 12.2): compared with the ID token before it.
  case refresh(previous: String)

  /// Whether the token came through the browser, so that only its own contents tie it to the request.
  var isFrontChannel: Bool {
    switch self {
    case .implicit, .hybrid: true
    case .code, .refresh: false
    }
  }
}
