import OAuthClient
import PosternSupport
import SessionRecords

extension SessionRepository {
  /// How many sessions a person keeps, whoever else logs in.
  private static let keptOfPerson = 8
  /// How many sessions end at a time.
  private static let maxEndedAtOnce = 8
  /// How often a write is tried: another one may take the room that was made.
  private static let maxAttempts = 8

  /// Runs `write`; if the uid is at its limit, ends other sessions of the uid and tries again, so that one person's many
  /// logins do not keep others from logging in.
  func withRoom<Value>(
    for uid: UInt32, _ write: () async throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    for _ in 1..<Self.maxAttempts {
      do throws(StoreError) {
        return try await write()
      } catch {
        guard error.kind == .overdrawn, await makeRoom(of: uid) else { throw error }
      }
    }
    return try await write()
  }

  /// Ends expired sessions or, if there are none, those with the oldest tokens of the person with the most sessions. False
  /// if nobody has many. Tokens are not revoked, because an issuer may end the person's other sessions with them.
  private func makeRoom(of uid: UInt32) async -> Bool {
    let ended = try? await roomFlights.value(for: uid) { [self] () async throws(SessionError) in
      if !census.isCurrent(for: uid, isShared: isShared, at: clock.monotonicNow) { try await takeCensus(of: uid) }
      while let choice = census.choice(
        for: uid, keeping: Self.keptOfPerson, atMost: Self.maxEndedAtOnce, at: clock.wallNow)
      {
        var count = 0
        for session in choice.sessions {
          census.remove(session.handle.key, ownedBy: uid)
          // Another process may have changed it since.
          guard let current = try await read(session.handle), census.isAsCounted(session, current.contents) else {
            continue
          }
          guard try await end(session.handle, ownedBy: uid) != nil else { continue }
          count += 1
          observer?.observe(.ended(session.handle, issuer: session.issuer, uid: uid))
        }
        if let most = choice.countOfPerson {
          observer?.observe(
            .troubled(
              "one person's oldest sessions end, so that others can log in",
              detail: "user \(uid) has as many sessions as it may have, and \(most) of them are one person's"))
        }
        if count > 0 { return count }
      }
      return 0
    }
    return ended ?? 0 > 0
  }

  private func takeCensus(of uid: UInt32) async throws(SessionError) {
    census.begin(for: uid, at: clock.monotonicNow)
    do throws(SessionError) {
      try await forEachRecord(ownedBy: uid) { contents, handle, _ in
        census.note(contents, of: handle, ownedBy: uid)
        return true
      }
    } catch {
      census.forget(uid)
      throw error
    }
  }
}

/// Counts sessions by person, for uids at their limit. A uid's sessions are read once; after that the count follows what
/// this process writes.
final class SessionCensus: Sendable {
  /// How long a count is used: in a shared store other processes write, too, and every store removes what has expired.
  private static let life = (shared: Duration.seconds(60), own: Duration.seconds(600))

  /// A session that is counted.
  struct Session {
    let handle: SessionHandle
    let issuer: String
    fileprivate let person: Person?
    /// When the session last got a token: milliseconds since the epoch.
    fileprivate let tokenAt: Int64
    fileprivate let expiresAt: Int64?

    fileprivate init(_ contents: SessionContents, _ handle: SessionHandle) {
      self.handle = handle
      issuer = contents.issuer.name
      person = Person(contents)
      tokenAt = contents.tokens.map(\.obtainedAt).max() ?? contents.life.createdAt
      expiresAt = contents.life.expiresAt
    }
  }

  /// Sessions that make room.
  struct Choice {
    let sessions: [Session]
    /// How many sessions their person has; nil if they have expired.
    let countOfPerson: Int?
  }

  private struct Count {
    let begunAt: MonotonicInstant
    var sessions: [RecordKey: Session] = [:]
    var people: [Person: Set<RecordKey>] = [:]

    mutating func remove(_ key: RecordKey) {
      guard let person = sessions.removeValue(forKey: key)?.person else { return }
      people[person]?.remove(key)
      if people[person]?.isEmpty == true { people[person] = nil }
    }
  }

  private let counts = Locked<[UInt32: Count]>([:])

  /// Whether there is a count that can be used.
  func isCurrent(for uid: UInt32, isShared: Bool, at now: MonotonicInstant) -> Bool {
    let life = isShared ? Self.life.shared : Self.life.own
    return counts.withLock { $0[uid].map { now - $0.begunAt < life } ?? false }
  }

  /// Begins to count anew.
  func begin(for uid: UInt32, at now: MonotonicInstant) { counts.withLock { $0[uid] = Count(begunAt: now) } }

  /// Counts no more.
  func forget(_ uid: UInt32) { counts.withLock { $0[uid] = nil } }

  /// Notes a session as it is now, where the uid's are counted.
  func note(_ contents: SessionContents, of handle: SessionHandle, ownedBy uid: UInt32) {
    guard !contents.isReserved else { return }
    counts.withLock { counts in
      guard counts[uid] != nil else { return }
      let session = Session(contents, handle)
      counts[uid]?.remove(handle.key)
      counts[uid]?.sessions[handle.key] = session
      if let person = session.person { counts[uid]?.people[person, default: []].insert(handle.key) }
    }
  }

  /// Whether a session is as it was counted.
  func isAsCounted(_ session: Session, _ contents: SessionContents) -> Bool {
    let current = Session(contents, session.handle)
    return current.tokenAt == session.tokenAt && current.expiresAt == session.expiresAt
  }

  /// Notes that a session is over.
  func remove(_ key: RecordKey, ownedBy uid: UInt32) { counts.withLock { $0[uid]?.remove(key) } }

  /// The sessions to end: expired ones or, if there are none, some of the person with the most, who keeps at least `kept`.
  /// Nil if there are none to end.
  func choice(for uid: UInt32, keeping kept: Int, atMost most: Int, at now: Timestamp) -> Choice? {
    counts.withLock { counts in
      guard let count = counts[uid] else { return nil }
      let expired = count.sessions.values.lazy.filter { $0.expiresAt.map { $0 <= now.millisecondsSinceEpoch } ?? false }
      let some = Array(expired.prefix(most))
      guard some.isEmpty else { return Choice(sessions: some, countOfPerson: nil) }
      guard let keys = count.people.values.max(by: { $0.count < $1.count }), keys.count > kept else { return nil }
      let number = min(keys.count - kept, most)
      let oldest = keys.compactMap { count.sessions[$0] }.sorted { $0.tokenAt < $1.tokenAt }.prefix(number)
      return Choice(sessions: Array(oldest), countOfPerson: keys.count)
    }
  }

  /// The user that an ID token named. Sessions without an ID token are not counted for anybody.
  fileprivate struct Person: Hashable {
    private let issuer: String
    private let subject: [UInt8]

    init?(_ contents: SessionContents) {
      guard contents.kind == .user, let subject = contents.user.subject else { return nil }
      issuer = contents.issuer.name
      self.subject = Array(subject.utf8)
    }
  }
}
