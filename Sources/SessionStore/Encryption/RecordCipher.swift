import PosternCrypto
import PosternSupport
import SessionRecords

/// Encrypts the records of one store, with AES-256-GCM.
///
/// The store's key is derived (HKDF) from the key file and the store's random salt, and each record has a key of its
/// own derived from that: random nonces would repeat too soon under one key for all (SP 800-38D section 8.3).
/// The unencrypted fields are authenticated with the contents, so that nothing can be altered or moved.
struct RecordCipher: Sendable {
  static let formatVersion: UInt8 = 1
  static let saltByteCount = 32

  private static let noData: [UInt8] = []
  private static let zeroNonce = [UInt8](repeating: 0, count: AESGCM.nonceByteCount)
  private static let sealByteCount = AESGCM.nonceByteCount + AESGCM.tagByteCount

  /// The identity of key and salt, which reveals nothing about them.
  let keyID: [UInt8]
  private let recordKeys: SymmetricKey
  private let fingerprintKey: HMACKey
  private let wrappingKey: SymmetricKey

  init(key: StoreKey, salt: [UInt8]) throws(StoreError) {
    do throws(CryptoError) {
      let root = try HKDF.extract(from: key.material, salt: salt)
      keyID = Array(try HKDF.expand(root, info: Array("postern store 1: key id".utf8)).reveal().prefix(16))
      recordKeys = try HKDF.expand(root, info: Array("postern store 1: records".utf8))
      fingerprintKey = try HMACKey(
        .sha256, key: try HKDF.expand(root, info: Array("postern store 1: fingerprints".utf8)))
      wrappingKey = try HKDF.expand(root, info: Array("postern store 1: wrapping".utf8))
    } catch { throw Self.failure(error) }
  }

  func seal(_ record: StoredRecord) throws(StoreError) -> SealedRecord {
    var sealed = SealedRecord(
      key: record.key, uid: record.uid, version: record.version, expiresAt: record.expiresAt, seal: [],
      ciphertext: [])
    let data = authenticatedData(of: sealed)
    do throws(CryptoError) {
      let nonce = SecureRandom.bytes(AESGCM.nonceByteCount)
      let contents = record.contents.reveal()
      let message = try AESGCM.seal(
        contents.span.bytes, key: try key(for: record.key), nonce: nonce,
        authenticating: data.span.bytes)
      sealed.seal = nonce + message.tag
      sealed.ciphertext = message.ciphertext
    } catch { throw Self.failure(error) }
    return sealed
  }

  /// Returns the record; `corrupted` when it was changed after it was sealed.
  func open(_ sealed: SealedRecord) throws(StoreError) -> StoredRecord {
    let data = authenticatedData(of: sealed)
    do throws(CryptoError) {
      guard sealed.seal.count == Self.sealByteCount else { throw CryptoError(code: .invalidInput, message: "") }
      var contents = try AESGCM.open(
        SealedMessage(ciphertext: sealed.ciphertext, tag: Array(sealed.seal[AESGCM.nonceByteCount...])),
        key: try key(for: sealed.key), nonce: Array(sealed.seal[..<AESGCM.nonceByteCount]),
        authenticating: data.span.bytes)
      return StoredRecord(
        key: sealed.key, uid: sealed.uid, version: sealed.version, expiresAt: sealed.expiresAt,
        contents: Secret(moving: &contents))
    } catch { throw StoreError(.corrupted, "\(sealed.key) is damaged or was altered") }
  }

  /// The fingerprint of a record in the manifest. The tag represents everything else in the record.
  func fingerprint(of key: RecordKey, version: UInt64, seal: [UInt8]) -> [UInt8] {
    var message: [UInt8] = []
    message.reserveCapacity(1 + key.id.count + MemoryLayout<UInt64>.size + seal.count)
    message.append(key.collection.number)
    message += key.id
    message += version.bytes
    message += seal
    return fingerprintKey.authenticate(message.span.bytes)
  }

  /// `bytes` encrypted for `purpose`. Each time under a key of its own: there is no limit to how often.
  func wrap(_ bytes: [UInt8], for purpose: String) throws(StoreError) -> [UInt8] {
    do throws(CryptoError) {
      let salt = SecureRandom.bytes(Self.saltByteCount)
      let message = try AESGCM.seal(
        bytes.span.bytes, key: try HKDF.expand(wrappingKey, info: Array(purpose.utf8) + salt),
        nonce: Self.zeroNonce, authenticating: Self.noData.span.bytes)
      return salt + message.tag + message.ciphertext
    } catch { throw Self.failure(error) }
  }

  /// Decrypts what `wrap` encrypted; nil when it was changed.
  func unwrap(_ bytes: [UInt8], for purpose: String) -> [UInt8]? {
    let overhead = Self.saltByteCount + AESGCM.tagByteCount
    guard bytes.count >= overhead,
      let key = try? HKDF.expand(wrappingKey, info: Array(purpose.utf8) + bytes[..<Self.saltByteCount])
    else { return nil }
    let message = SealedMessage(
      ciphertext: Array(bytes[overhead...]), tag: Array(bytes[Self.saltByteCount..<overhead]))
    return try? AESGCM.open(message, key: key, nonce: Self.zeroNonce, authenticating: Self.noData.span.bytes)
  }

  private func key(for record: RecordKey) throws(CryptoError) -> SymmetricKey {
    try HKDF.expand(recordKeys, info: [record.collection.number] + record.id)
  }

  private func authenticatedData(of record: SealedRecord) -> [UInt8] {
    var data = Array("postern record".utf8)
    data.append(Self.formatVersion)
    data += keyID
    data.append(record.key.collection.number)
    data += record.key.id
    data += record.uid.bytes
    data += record.version.bytes
    data.append(record.expiresAt == nil ? 0 : 1)
    data += (record.expiresAt?.millisecondsSinceEpoch ?? 0).bytes
    return data
  }

  private static func failure(_ error: CryptoError) -> StoreError {
    StoreError(.unavailable, "the records cannot be encrypted: \(error)")
  }
}
