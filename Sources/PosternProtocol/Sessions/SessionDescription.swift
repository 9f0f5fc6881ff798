public import AuthEngine
public import PosternJSON

/// A session as a caller sees it; never a token.
public struct SessionDescription: RPCObject {
  public var session: String
  public var issuer: String
  public var subject: String?
  public var kind: SessionKind
  public var scope: String
  public var createdAt: String
  public var expiresAt: String?
  public var accessTokenExpiresAt: String?
  public var claims: JSONValue?
  public var acr: String?
  public var authTime: Int64?

  /// A session of the given parts; the others are set one by one.
  public init(session: String, issuer: String, kind: SessionKind, scope: String, createdAt: String) {
    self.session = session
    self.issuer = issuer
    self.kind = kind
    self.scope = scope
    self.createdAt = createdAt
  }

  public static let memberDocs = [
    "session": "The handle: keep it, and keep it to yourself",
    "issuer": "The issuer's name in the configuration",
    "subject": "The user's identifier at the issuer, where it is known",
    "kind": "user, or implicit: a registered profile without its user",
    "scope": "The scope that was granted; empty when it is not known",
    "createdAt": "When it began",
    "expiresAt": "When it ends, where that is known",
    "accessTokenExpiresAt": "When the current access token expires",
    "claims": "The claims of the ID token",
    "acr": "The authentication context",
    "authTime": "When the user authenticated, in seconds since the epoch",
  ]
}
