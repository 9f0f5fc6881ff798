public import OAuthClient

/// How an issuer lets the client log a registered profile in while no user is there, with the client's own credentials.
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

  /// What a session was allowed when it was made: it ends when that is not what is configured any more.
  struct Terms: Sendable, Hashable, Codable {
    let grant: Grant
    let scope: String?
  }

  /// The grant.
  public let grant: Grant
  /// The scope to ask for, and the most that is ever asked for; nil: what the issuer gives by itself.
  public let scope: String?
  /// Signs what the client says of a profile; nil where the client has no key.
  public let signer: AssertionSigner?

  /// Access by `grant`.
  public init(grant: Grant, scope: String? = nil, signer: AssertionSigner? = nil) {
    self.grant = grant
    self.scope = scope
    self.signer = signer
  }

  var terms: Terms { Terms(grant: grant, scope: scope) }

  /// Whether the profile's ID token is what the issuer is shown, for the client cannot sign for itself.
  var needsIDToken: Bool { grant == .tokenExchange && signer == nil }
}
