package import HTTPMessages
import PosternCrypto
package import PosternSupport
package import SessionRecords

/// The key of the nonces of proofs (RFC 9449 section 9). A nonce is its epoch, something random, and their
/// authentication code: it needs no memory, and every process with the key accepts it.
package struct NonceKey: Sendable {
  static let byteCount = 32
  private static let randomByteCount = 8
  private static let tagByteCount = 16

  private let key: HMACKey

  package init(_ bytes: [UInt8]) throws(StoreError) {
    guard bytes.count == Self.byteCount, let key = try? HMACKey(.sha256, key: SymmetricKey(bytes)) else {
      throw StoreError(.corrupted, "the key of the nonces is damaged")
    }
    self.key = key
  }

  /// A nonce for the APIs at `origin`.
  package func nonce(for origin: HTTPURL.Origin, life: Duration, at now: Timestamp) -> String {
    let head = Self.bytes(Self.epoch(of: now, life)) + SecureRandom.bytes(Self.randomByteCount)
    return Base64URL.string(head + tag(head, origin, life))
  }

  /// Whether `nonce` is one for `origin`, of this epoch or the one before. Of the next one, too: another process's
  /// clock may be ahead.
  package func accepts(_ nonce: String, for origin: HTTPURL.Origin, life: Duration, at now: Timestamp) -> Bool {
    let headByteCount = 8 + Self.randomByteCount
    guard nonce.utf8.count <= 64, let bytes = Base64URL.decode(nonce), bytes.count == headByteCount + Self.tagByteCount
    else { return false }
    let head = Array(bytes[..<headByteCount])
    guard ConstantTime.equals(Array(bytes[headByteCount...]), tag(head, origin, life)) else { return false }
    let epoch = head[..<8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    let current = Self.epoch(of: now, life)
    return epoch <= current &+ 1 && epoch &+ 1 >= current
  }

  private func tag(_ head: [UInt8], _ origin: HTTPURL.Origin, _ life: Duration) -> [UInt8] {
    let message = head + Self.bytes(UInt64(clamping: life.wholeMilliseconds)) + Array("\(origin)".utf8)
    return Array(key.authenticate(message.span.bytes).prefix(Self.tagByteCount))
  }

  private static func epoch(of now: Timestamp, _ life: Duration) -> UInt64 {
    UInt64(clamping: now.millisecondsSinceEpoch / max(1, life.wholeMilliseconds))
  }

  private static func bytes(_ number: UInt64) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
}

/// The nonce key of a store: all processes that share the store have the same, and it outlives them.
package final class ProofNonces: Sendable {
  /// The uid of no user (chown(2)).
  private static let uid = UInt32.max
  private static let recordKey = RecordKey(
    collection: .registration, id: HashFunction.sha256.hash("dpop-nonce-key", of: []))

  private let store: any RecordStore
  private let known = Locked<NonceKey?>(nil)

  package init(store: any RecordStore) { self.store = store }

  /// The key, read or made when it is first needed.
  package func key(for uid: UInt32) async throws(StoreError) -> NonceKey {
    if let key = known.withLock({ $0 }) { return key }
    let key = try NonceKey(try await contents(for: uid))
    known.withLock { $0 = key }
    return key
  }

  private func contents(for uid: UInt32) async throws(StoreError) -> [UInt8] {
    if let stored = try await store.record(for: Self.recordKey, by: uid) { return stored.contents.reveal() }
    let made = SecureRandom.bytes(NonceKey.byteCount)
    do throws(StoreError) {
      try await store.insert(
        StoredRecord(key: Self.recordKey, uid: Self.uid, version: 1, expiresAt: nil, contents: Secret(made)))
      return made
    } catch {
      guard error.kind == .conflict else { throw error }
    }
    // Another process was first.
    guard let stored = try await store.record(for: Self.recordKey, by: uid) else {
      throw StoreError(.unavailable, "the key of the nonces was removed")
    }
    return stored.contents.reveal()
  }
}
