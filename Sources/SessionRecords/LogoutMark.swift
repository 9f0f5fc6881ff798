import PosternCrypto
package import PosternSupport

/// The mark of a login that its issuer has ended (OpenID Connect Back-Channel Logout 1.0): a login that completes after
/// its logout is rejected by it, in every process that uses the store.
///
/// A record of no user. It expires by itself when no login is under way any more that had begun before it.
package struct LogoutMark: Sendable {
  /// How long any login may be under way.
  package static let longestLogin = Duration.seconds(3600)
  /// The life of a mark: such a login, and the requests that complete it.
  package static let life = longestLogin + .seconds(300)
  /// How many there are at most.
  private static let capacity = 60_000
  /// The uid of no user (chown(2)): marks are not counted as a user's logins in progress.
  private static let uid = UInt32.max

  private let key: RecordKey

  /// The mark of the login `sid` at an issuer, for a client.
  package init(sid: String, issuer: String, clientID: String) {
    key = RecordKey(
      collection: .authorization, id: HashFunction.sha256.hash("logout", of: [issuer, clientID, sid]))
  }

  /// Sets the mark, durably. `overdrawn` when there are too many.
  package func set(
    by writer: RecordWriter, at now: Timestamp, for payer: UInt32, _ report: @escaping RecordWriter.Report
  ) async throws(StoreError) {
    var record = StoredRecord(
      key: key, uid: Self.uid, version: 1, expiresAt: now + Self.life, contents: Secret(Array("{}".utf8)))
    let allowance = RecordAllowance(count: Self.capacity, bytes: writer.allowance.bytes)
    do throws(StoreError) {
      return try await writer.insert(record, within: allowance, by: payer, report)
    } catch {
      guard error.kind == .conflict else { throw error }
    }
    // There is one, which may be about to expire.
    guard let stored = try await writer.store.record(for: key, by: payer) else {
      return try await writer.insert(record, within: allowance, by: payer, report)
    }
    record.version = stored.version + 1
    do throws(StoreError) {
      try await writer.replace(record, under: nil, by: payer)
    } catch {
      // Another call has set it at this moment.
      guard error.kind == .conflict else { throw error }
    }
  }

  /// Whether the mark is set.
  package func isSet(
    in store: any RecordStore, at now: Timestamp, for payer: UInt32
  ) async throws(StoreError) -> Bool {
    try await store.record(for: key, by: payer)?.expiresAt.map { $0 > now } ?? false
  }
}
