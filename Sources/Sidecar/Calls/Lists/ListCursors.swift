import PosternCrypto
import PosternSupport

/// Makes cursors, which say behind which entry a list goes on: good for the list and the uid they were made for, while
/// the process runs. A cursor cannot be changed to that of another user, nor made up. Its content is
/// encrypted: positions count what all users have, and would tell each how much the others do.
struct ListCursors: Sendable {
  /// Where a list goes on.
  struct Position: Hashable {
    /// The position of the last entry that was read.
    let entry: Int64
    /// The moment whose list it is; 0 where entries keep their places.
    var moment: Int64 = 0
  }

  private static let positionByteCount = 16
  private static let byteCount = AESGCM.nonceByteCount + positionByteCount + AESGCM.tagByteCount

  private let key = SymmetricKey.random(byteCount: 32)

  /// The cursor for going on behind `position`, whose numbers are not negative.
  func cursor(_ position: Position, of list: String, for uid: UInt32) throws(CryptoError) -> String {
    let bytes = [position.entry, position.moment].flatMap { number in
      withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }
    let context = Self.context(list, uid)
    let nonce = SecureRandom.bytes(AESGCM.nonceByteCount)
    let sealed = try AESGCM.seal(bytes.span.bytes, key: key, nonce: nonce, authenticating: context.span.bytes)
    return Base64URL.string(nonce + sealed.ciphertext + sealed.tag)
  }

  /// The position of `cursor`; nil when it is not a cursor of this list and uid.
  func position(_ cursor: String, of list: String, for uid: UInt32) -> Position? {
    guard cursor.utf8.count <= 64, let bytes = Base64URL.decode(cursor), bytes.count == Self.byteCount else {
      return nil
    }
    let (nonce, rest) = (bytes.prefix(AESGCM.nonceByteCount), bytes.dropFirst(AESGCM.nonceByteCount))
    let sealed = SealedMessage(
      ciphertext: Array(rest.prefix(Self.positionByteCount)), tag: Array(rest.dropFirst(Self.positionByteCount)))
    let context = Self.context(list, uid)
    let position = try? AESGCM.open(sealed, key: key, nonce: Array(nonce), authenticating: context.span.bytes)
    guard let position else { return nil }
    func number(_ bytes: ArraySlice<UInt8>) -> Int64 { bytes.reduce(0) { $0 << 8 | Int64($1) } }
    return Position(entry: number(position.prefix(8)), moment: number(position.dropFirst(8)))
  }

  /// The list and the uid that a cursor is valid for.
  private static func context(_ list: String, _ uid: UInt32) -> [UInt8] {
    withUnsafeBytes(of: uid.bigEndian) { Array($0) } + Array(list.utf8)
  }
}
