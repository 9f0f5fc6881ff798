public import OAuthClient

/// How an issuer lets the client log a registered profile in without the user, by client authentication.
public struct ImplicitAccess: Sendable {
  /// The grants that can do it.
  public enum Grant: String, Sendable, Hashable, Codable, CaseIterable {
    /// RFC 8693.
    case tokenExchange = "token_exchange"
    /// RFC 7523 section 2.1.
    case jwtBearer = "jwt_bearer"
    /// RFC 6749 section 4.4.
    case clientCredentials = "client_credentials"
  }

  /// The terms of a session when it was created: it ends when other terms are configured.
  struct Terms: Sendable, Hashable, Codable {
    let grant: Grant
    let scope: String?
  }

  /// The grant.
  public let grant: Grant
  /// The scope to request, and the most that is ever requested; nil: the issuer's default.
  public let scope: String?
  /// Signs the client's assertions about a profile; nil where the client has no key.
  public let signer: AssertionSigner?

  /// Access by `grant`.
  public init(grant: Grant, scope: String? = nil, signer: AssertionSigner? = nil) {
    self.grant = grant
    self.scope = scope
    self.signer = signer
  }

  var terms: Terms { Terms(grant: grant, scope: scope) }

  /// Whether the profile's ID token is sent to the issuer, since the client cannot sign an assertion.
  var needsIDToken: Bool { grant == .tokenExchange && signer == nil }
}
