import PosternCrypto
import PosternSupport

/// Makes cursors, which say behind which entry a list goes on: good for the list and the uid they were made for, while
/// the process runs. A cursor cannot be changed to that of another user, nor made up. Its content is
/// encrypted: positions count what all users have, and would tell each how much the others do.
struct ListCursors: Sendable {
  private static let positionByteCount = 8
  private static let byteCount = AESGCM.nonceByteCount + positionByteCount + AESGCM.tagByteCount

  private let key = SymmetricKey.random(byteCount: 32)

  /// The cursor for going on behind `position`, which is not negative.
  func cursor(_ position: Int64, of list: String, for uid: UInt32) throws(CryptoError) -> String {
    let bytes = withUnsafeBytes(of: position.bigEndian) { Array($0) }
    let context = Self.context(list, uid)
    let nonce = SecureRandom.bytes(AESGCM.nonceByteCount)
    let sealed = try AESGCM.seal(bytes.span.bytes, key: key, nonce: nonce, authenticating: context.span.bytes)
    return Base64URL.string(nonce + sealed.ciphertext + sealed.tag)
  }

  /// The position of `cursor`; nil when it is not a cursor of this list and uid.
  func position(_ cursor: String, of list: String, for uid: UInt32) -> Int64? {
    guard cursor.utf8.count <= 64, let bytes = Base64URL.decode(cursor), bytes.count == Self.byteCount else {
      return nil
    }
    let (nonce, rest) = (bytes.prefix(AESGCM.nonceByteCount), bytes.dropFirst(AESGCM.nonceByteCount))
    let sealed = SealedMessage(
      ciphertext: Array(rest.prefix(Self.positionByteCount)), tag: Array(rest.dropFirst(Self.positionByteCount)))
    let context = Self.context(list, uid)
    let position = try? AESGCM.open(sealed, key: key, nonce: Array(nonce), authenticating: context.span.bytes)
    return position?.reduce(0) { $0 << 8 | Int64($1) }
  }

  /// The list and the uid that a cursor is valid for.
  private static func context(_ list: String, _ uid: UInt32) -> [UInt8] {
    withUnsafeBytes(of: uid.bigEndian) { Array($0) } + Array(list.utf8)
  }
}
