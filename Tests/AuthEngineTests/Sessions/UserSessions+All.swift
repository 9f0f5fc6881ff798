import AuthEngine
import PosternSupport

extension UserSessions {
  /// All sessions of `owner`, the oldest first.
  func sessions(ownedBy owner: UInt32) async throws(SessionError) -> [Session] {
    var sessions: [Session] = []
    try await forEachSession(ownedBy: owner) { session, _ in
      sessions.append(session)
      return true
    }
    return sessions
  }
}

extension RecordStore {
  /// The first records of `owner`.
  func records(in collection: RecordKey.Collection, ownedBy owner: UInt32) async throws(StoreError) -> [StoredRecord] {
    try await records(in: collection, ownedBy: owner, after: 0, atMost: 100).entries.map(\.record)
  }
}
