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
  /// The redirect URIs of other configured issuers. A callback to one of them may be another issuer's.
  public var otherRedirectURIs: [String] = []
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

  /// Whether another configured issuer sends browsers back to the same location. On loopback each login has a listener of
  /// its own.
  func sharesRedirectURI(_ uri: String) -> Bool {
    guard !otherRedirectURIs.isEmpty else { return false }
    let own = RedirectURI(uri)
    return !own.isLoopback && otherRedirectURIs.contains { own.isLocation(of: String($0.prefix(beforeBytes: "?"))) }
  }
}
