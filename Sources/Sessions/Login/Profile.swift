import OAuthClient
import PosternCrypto
import PosternSupport
import SessionRecords

/// A user who has logged in here before: whom the client may log in again by itself, where the issuer lets it.
///
/// A record of its own, so that it outlives the user's session. It holds nothing that the client could not say by
/// itself, but for the ID token where that is what the issuer wants to see.
package struct Profile: RecordContents {
  static let currentFormat = 1
  /// How long after the user's last login a profile is good.
  static let life = Duration.seconds(90 * 86_400)
  /// How long a profile is left as it is although its user logs in again: not every login is worth a write.
  static let touchInterval = Duration.seconds(3600)
  var format = Self.currentFormat
  let subject: String
  let issuerIdentifier: String
  let clientID: String
  /// The user's last login here, in milliseconds since the epoch.
  var lastLoginAt: Int64
  var idToken: String?

  /// The profile in a record of this format; nil when there is none.
  static func current(_ record: StoredRecord) -> Profile? {
    read(record).flatMap { $0.format == currentFormat ? $0 : nil }
  }

  /// The key of its record: one for each uid, issuer, client and subject.
  static func key(of subject: String, at issuer: Issuer, ownedBy uid: UInt32) -> RecordKey {
    let parts = [String(uid), issuer.identifier, issuer.clientID, subject]
    return RecordKey(collection: .profile, id: HashFunction.sha256.hash("profile", of: parts))
  }

  /// Until when it is good.
  var expiresAt: Timestamp { Timestamp(millisecondsSinceEpoch: lastLoginAt) + Self.life }
}
