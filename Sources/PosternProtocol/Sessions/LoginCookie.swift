import PosternSupport

/// The cookie by which a browser's login is recognised when the issuer leads it back (RFC 6749 section 10.12).
public struct LoginCookie: Sendable, Hashable {
  /// The name, with the `__Host-` prefix where the cookie is sent over https only.
  public let name: String
  private let attributes: String

  /// The cookie of logins that come back to `redirectURI`; nil where no browser would bring a cookie there.
  public init?(_ redirectURI: String) {
    let scheme = redirectURI.prefix(beforeBytes: ":").lowercasedASCII()
    guard ["http", "https"].contains(scheme) else { return nil }
    let isSecure = scheme == "https"
    name = isSecure ? "__Host-postern-login" : "postern-login"
    // Lax: the issuer leads back with a GET from another site. The path is that of the prefix's rule.
    attributes = "; Path=/; Max-Age=600; HttpOnly\(isSecure ? "; Secure" : ""); SameSite=Lax"
  }

  /// The value of `Set-Cookie` for a login of that state, which needs no quoting.
  public func setCookie(_ state: String) -> String { "\(name)=\(state)\(attributes)" }
}
