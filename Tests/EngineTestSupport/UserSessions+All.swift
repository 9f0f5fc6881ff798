package import AuthEngine
package import OAuthClient
import PosternSupport

extension UserSessions {
  /// All sessions of `uid`, the oldest first.
  package func sessions(in call: CallScope) async throws(SessionError) -> [Session] {
    var sessions: [Session] = []
    try await forEachSession(in: call) { session, _ in
      sessions.append(session)
      return true
    }
    return sessions
  }
}

extension RecordStore {
  /// The first records of `uid`.
  package func records(in collection: RecordKey.Collection, ownedBy uid: UInt32) async throws(StoreError)
    -> [StoredRecord]
  {
    try await records(in: collection, ownedBy: uid, after: 0, atMost: 100, by: uid).entries.map(\.record)
  }
}
