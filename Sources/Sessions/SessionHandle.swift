import PosternCrypto
public import PosternSupport
import SessionRecords

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
