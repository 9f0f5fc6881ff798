import OAuthClient
import PosternCrypto
import PosternJSON
import PosternSupport
import SessionRecords
import TokenValidation

/// Registers the users who have logged in, for implicit access.
struct ProfileRegistry: Sendable {
  /// How often a profile is written that other logins write at the same time.
  private static let attempts = 3

  let writer: RecordWriter
  let clock: any EngineClock
  let observer: (any SessionObserver)?

  private var store: any RecordStore { writer.store }

  /// Registers the user of a new session, or of one with a new ID token, where the issuer has implicit access.
  ///
  /// Only a valid ID token identifies the user, and only one that has not expired counts as a login. A failure does not
  /// affect the session: a store that takes no profile, or a uid with too many, costs that uid the implicit access
  /// alone.
  func register(_ contents: SessionContents, ownedBy uid: UInt32, at issuer: SessionIssuer, in call: CallScope) async {
    guard contents.kind == .user, let access = issuer.implicit, let subject = contents.user.subject,
      let idToken = contents.user.idToken, let expiry = contents.user.claims?["exp"]?.integerValue,
      clock.wallNow < Timestamp(secondsSinceEpoch: expiry) + issuer.tokens.clockSkew
    else { return }
    let profile = Profile(
      subject: subject, issuerIdentifier: issuer.issuer.identifier, clientID: issuer.issuer.clientID,
      lastLoginAt: clock.wallNow.millisecondsSinceEpoch, idToken: access.needsIDToken ? idToken : nil)
    let key = Profile.key(of: subject, at: issuer.issuer, ownedBy: uid)
    // Another login of the same user may write first: then that one counts, or is written over.
    for attempt in 1...Self.attempts {
      do throws(StoreError) {
        return try await write(profile, key, uid, call)
      } catch {
        if error.kind == .conflict, attempt < Self.attempts { continue }
        observer?.observe(
          .troubled("a profile cannot be registered", detail: "\(error) (issuer \(issuer.issuer.name))"), in: call)
        return
      }
    }
  }

  private func write(_ profile: Profile, _ key: RecordKey, _ uid: UInt32, _ call: CallScope) async throws(StoreError) {
    guard let bytes = profile.bytes else { return }
    guard let stored = try await store.record(for: key, by: call.uid) else {
      return try await store.insert(
        StoredRecord(key: key, uid: uid, version: 1, expiresAt: profile.expiresAt, contents: bytes),
        within: writer.allowance)
    }
    if let known = Profile.current(stored), known.idToken == profile.idToken,
      known.lastLoginAt + Profile.touchInterval.wholeMilliseconds > profile.lastLoginAt
    {
      return
    }
    try await store.replace(
      StoredRecord(
        key: key, uid: uid, version: stored.version + 1, expiresAt: profile.expiresAt, contents: bytes),
      under: nil, within: writer.allowance)
  }

  /// The profile of that subject, if the caller has one there; nil if it has none, or none that is still good.
  func profile(_ subject: String, at issuer: SessionIssuer, in call: CallScope) async throws(SessionError)
    -> Profile?
  {
    do throws(StoreError) {
      let key = Profile.key(of: subject, at: issuer.issuer, ownedBy: call.uid)
      guard let record = try await store.record(for: key, by: call.uid), record.uid == call.uid else { return nil }
      guard let profile = Profile.current(record), profile.subject.hasSameBytes(as: subject) else {
        throw StoreError(.corrupted, "\(key) is no profile")
      }
      return profile.expiresAt > clock.wallNow ? profile : nil
    } catch {
      throw SessionError(error)
    }
  }
}

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
