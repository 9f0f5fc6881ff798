public import OAuthClient
public import PosternSupport
public import TokenValidation

/// A configured issuer with everything that sessions need to know of it. A value: whatever is reloaded makes another.
public struct SessionIssuer: Sendable, ConciseStringConvertible {
  /// The issuer of the tokens.
  public let issuer: Issuer
  /// The rules for ID tokens.
  public let tokens: IDTokenConfiguration
  /// Where the keys of ID tokens are.
  public let keys: any KeySource
  /// The scope to ask for when a call does not say.
  public let scope: String?
  /// How registered profiles are logged in; nil where that is not set up.
  public let implicit: ImplicitAccess?
  /// The access manager behind the issuer; nil where there is none.
  public let accessManager: AccessManager?
  /// The client's registered redirect URI for authorizations that begin in the sidecar; nil where none is configured.
  public let redirectURI: String?
  /// The issuer.
  public var description: String { "\(issuer)" }

  /// An issuer of the given parts.
  public init(
    issuer: Issuer, tokens: IDTokenConfiguration, keys: any KeySource, scope: String? = nil,
    implicit: ImplicitAccess? = nil, accessManager: AccessManager? = nil, redirectURI: String? = nil
  ) {
    self.issuer = issuer
    self.tokens = tokens
    self.keys = keys
    self.scope = scope
    self.implicit = implicit
    self.accessManager = accessManager
    self.redirectURI = redirectURI ?? accessManager?.redirectURI
  }
}
