import OAuthClient
import PosternSupport
import SessionRecords

extension SessionRepository {
  /// How many sessions a person keeps, whoever else logs in.
  private static let keptOfPerson = 8
  /// How many sessions end at a time: a search reads all sessions of the uid.
  private static let maxEndedAtOnce = 64
  /// How long after a search in vain none is made.
  private static let searchInterval = Duration.seconds(60)

  /// Writes, and where the uid has as much as it may have, has the sessions of one person make room: whoever logs in
  /// again and again keeps nobody else of the uid from logging in.
  func withRoom<Value>(
    for uid: UInt32, _ write: () async throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    while true {
      do throws(StoreError) {
        return try await write()
      } catch {
        guard error.kind == .overdrawn, await makeRoom(of: uid) else { throw error }
      }
    }
  }

  /// Ends the least recently used sessions of the person who has most; false where nobody has many.
  private func makeRoom(of uid: UInt32) async -> Bool {
    let now = clock.monotonicNow
    guard withoutRoom.withLock({ $0[uid].map { $0 <= now } ?? true }) else { return false }
    let count = try? await roomFlights.value(for: uid) { [self] () async throws(SessionError) in
      var people: [Person: [PersonsSession]] = [:]
      try await forEachRecord(ownedBy: uid) { contents, handle, _ in
        if let person = Person(contents) { people[person, default: []].append(PersonsSession(handle, contents)) }
        return true
      }
      guard let most = people.values.max(by: { $0.count < $1.count }), most.count > Self.keptOfPerson else {
        withoutRoom.withLock { $0[uid] = clock.monotonicNow + Self.searchInterval }
        return 0
      }
      let ending = min(max(1, most.count / 4), most.count - Self.keptOfPerson, Self.maxEndedAtOnce)
      var count = 0
      for session in most.sorted(by: { $0.usedAt < $1.usedAt }).prefix(ending) {
        guard try await end(session.handle, ownedBy: uid) != nil else { continue }
        count += 1
        observer?.observe(.ended(session.handle, issuer: session.issuer, uid: uid))
      }
      observer?.observe(
        .troubled(
          "one person's oldest sessions end, so that others can log in",
          detail: "user \(uid) has as many sessions as it may have, and \(most.count) of them are one person's"))
      return count
    }
    return count ?? 0 > 0
  }
}

/// Whose a session is, where an ID token has named its user: nobody else's sessions are counted together.
private struct Person: Hashable {
  private let issuer: String
  private let subject: [UInt8]

  init?(_ contents: SessionContents) {
    guard contents.kind == .user, let subject = contents.user.subject else { return nil }
    issuer = contents.issuer.name
    self.subject = Array(subject.utf8)
  }
}

private struct PersonsSession {
  let handle: SessionHandle
  let issuer: String
  /// When the session last got a token: milliseconds since the epoch.
  let usedAt: Int64

  init(_ handle: SessionHandle, _ contents: SessionContents) {
    self.handle = handle
    issuer = contents.issuer.name
    usedAt = contents.tokens.map(\.obtainedAt).max() ?? contents.life.createdAt
  }
}
