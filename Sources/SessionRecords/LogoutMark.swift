import PosternCrypto
package import PosternSupport

/// The mark of a login that its issuer has ended (OpenID Connect Back-Channel Logout 1.0): a login that completes after
/// its logout is rejected by it, in every process that uses the store.
///
/// A record of no user. It expires by itself, after the life of a pending authorization.
package struct LogoutMark: Sendable {
  /// The life of a mark: that of a login under way.
  package static let life = Duration.seconds(600)
  /// The uid of no user (chown(2)): marks are not counted as a user's logins in progress.
  private static let uid = UInt32.max

  private let key: RecordKey

  /// The mark of the login `sid` at an issuer, for a client.
  package init(sid: String, issuer: String, clientID: String) {
    key = RecordKey(
      collection: .authorization, id: HashFunction.sha256.hash("logout", of: [issuer, clientID, sid]))
  }

  /// Sets the mark, durably. `overdrawn` when there are as many as one uid may have records.
  package func set(by writer: RecordWriter, at now: Timestamp) async throws(StoreError) {
    var record = StoredRecord(
      key: key, uid: Self.uid, version: 1, expiresAt: now + Self.life, contents: Secret(Array("{}".utf8)))
    do throws(StoreError) {
      return try await writer.insert(record)
    } catch {
      guard error.kind == .conflict else { throw error }
    }
    // There is one, which may be about to expire.
    guard let stored = try await writer.store.record(for: key) else { return try await writer.insert(record) }
    record.version = stored.version + 1
    do throws(StoreError) {
      try await writer.replace(record, under: nil)
    } catch {
      // Another call has set it at this moment.
      guard error.kind == .conflict else { throw error }
    }
  }

  /// Whether the mark is set.
  package func isSet(in store: any RecordStore, at now: Timestamp) async throws(StoreError) -> Bool {
    try await store.record(for: key)?.expiresAt.map { $0 > now } ?? false
  }
}
