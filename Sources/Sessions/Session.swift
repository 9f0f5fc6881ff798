import PosternCrypto
public import PosternJSON
public import PosternSupport
import SessionRecords

/// A session as a caller may see it; never a token.
public struct Session: Sendable, ConciseStringConvertible {
  /// The handle.
  public let handle: SessionHandle
  /// The issuer's name in the configuration.
  public let issuer: String
  /// The user's identifier at the issuer, where it is known.
  public let subject: String?
  /// The kind of session.
  public let kind: SessionKind
  /// The scope that was granted.
  public let scope: String?
  /// When it began.
  public let createdAt: Timestamp
  /// When it ends; nil when that is not known.
  public let expiresAt: Timestamp?
  /// When the current access token expires.
  public let accessTokenExpiresAt: Timestamp?
  /// The claims of the ID token.
  public let claims: JSONObject?
  /// The authentication context.
  public let acr: String?
  /// When the user authenticated.
  public let authenticatedAt: Timestamp?
  /// Whether a later login in the same browser has replaced it. `only` does not count such a session.
  package var isReplaced = false

  /// `session of alice at corp, expires 2026-01-02T03:04:05.678Z`.
  public var description: String {
    let user = "\(kind == .user ? "session" : "implicit session") of \(Concise.name(subject ?? "an unknown user"))"
    return Concise.text("\(user) at \(Concise.name(issuer))", expiresAt.map { "expires \($0)" })
  }
}

/// The kind of a session.
public enum SessionKind: String, Sendable, Hashable, Codable, CaseIterable {
  /// A user who was there.
  case user
  /// A registered profile, logged in by client authentication without a user.
  case implicit
}

/// The caller's reference to a session, instead of its tokens: 256 random bits in base64url.
///
/// Stores know only its SHA-256, so that a copy of a store opens no session.
public struct SessionHandle: Sendable, Hashable, ConciseStringConvertible {
  private static let byteCount = 32

  /// The handle as it goes over the wire.
  public let text: String

  /// A new handle.
  public static func random() -> SessionHandle {
    SessionHandle(text: Base64URL.string(SecureRandom.bytes(byteCount)))
  }

  /// A handle that a caller sent; `notFound` when it can be none. It throws because handles are optional where they are
  /// taken, and nil means another session there: the uid's only one.
  public init(_ text: String) throws(SessionError) {
    guard Base64URL.decode(text)?.count == Self.byteCount else { throw .notFound }
    self.init(text: text)
  }

  /// The key of the session's record. Computed once: a call uses it several times.
  let key: RecordKey
  /// The beginning of the hash: identifies sessions in logs, and gives no access to them.
  public var description: String { key.prefix }

  private init(text: String) {
    self.text = text
    key = RecordKey(collection: .session, id: HashFunction.sha256.hash(Array(text.utf8)))
  }
}
