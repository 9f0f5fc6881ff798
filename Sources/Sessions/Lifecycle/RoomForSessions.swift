import OAuthClient
import PosternSupport
import SessionRecords

extension SessionRepository {
  /// How many sessions a person keeps, whoever else logs in.
  private static let keptOfPerson = 8
  /// How many sessions end at a time.
  private static let maxEndedAtOnce = 8
  /// About how many bytes a login in progress takes.
  private static let bytesOfLogin = 1024
  /// How often a write is tried: another one may take the room that was made.
  private static let maxAttempts = 8

  /// Runs `write`; if the uid is at its limit, makes room for `room` and tries again, so that one person's many logins do
  /// not keep others from logging in. The write may replace logins in progress if these have more than their share, or if
  /// there is no other way.
  func withRoom<Value>(
    _ room: SessionRoom?, of uid: UInt32, _ write: (_ mayReplace: Bool) async throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    guard let room else { return try await write(true) }
    var mayReplace = false
    for _ in 1..<Self.maxAttempts {
      do throws(StoreError) {
        return try await write(mayReplace)
      } catch {
        guard error.kind == .overdrawn else { throw error }
      }
      if !mayReplace, await hasManyLogins(uid) {
        mayReplace = true
      } else {
        mayReplace = false
        guard await make(room, of: uid) else { break }
      }
    }
    return try await write(true)
  }

  /// Whether the uid's logins in progress have more than what new sessions leave to them.
  private func hasManyLogins(_ uid: UInt32) async -> Bool {
    guard let count = try? await store.usage(of: uid).count(in: .authorization) else { return false }
    return count > writer.loginBytes / Self.bytesOfLogin
  }

  /// Ends expired sessions or, if there are none and `room` may end others, those that `SessionCensus.choice` names. False
  /// if there are none. Tokens are not revoked, because an issuer may end the person's other sessions with them.
  private func make(_ room: SessionRoom, of uid: UInt32) async -> Bool {
    let ended = try? await roomFlights.value(for: RoomFlight(uid: uid, room: room)) {
      [self] () async throws(SessionError) in
      if !census.isCurrent(for: uid, isShared: isShared, at: clock.monotonicNow) { try await takeCensus(of: uid) }
      while let choice = census.choice(
        for: uid, room, keeping: Self.keptOfPerson, atMost: Self.maxEndedAtOnce, at: clock.wallNow)
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
        if let reason = choice.reason {
          observer?.observe(
            .troubled(
              "older sessions end, so that others can log in",
              detail: "user \(uid) has as many sessions as it may have, and \(reason)"))
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
    /// Why these, for the log; nil if they have expired.
    let reason: String?
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

  /// The sessions to end. Expired ones or, if there are none, the oldest of the person with the most, who keeps at least
  /// `kept`. If nobody has more, the oldest of the issuer with the most, as long as that is another issuer than the new
  /// session's, with more than an equal share. Nil if there are none to end.
  func choice(for uid: UInt32, _ room: SessionRoom, keeping kept: Int, atMost most: Int, at now: Timestamp) -> Choice? {
    counts.withLock { counts in
      guard let count = counts[uid] else { return nil }
      let expired = count.sessions.values.lazy.filter { $0.expiresAt.map { $0 <= now.millisecondsSinceEpoch } ?? false }
      let some = Array(expired.prefix(most))
      guard some.isEmpty else { return Choice(sessions: some, reason: nil) }
      guard room.mayEndOthers else { return nil }
      func oldest(_ keys: Set<RecordKey>, leaving kept: Int, _ reason: String) -> Choice {
        let sessions = keys.compactMap { count.sessions[$0] }.sorted { $0.tokenAt < $1.tokenAt }
        return Choice(sessions: Array(sessions.prefix(min(keys.count - kept, most))), reason: reason)
      }
      if let keys = count.people.values.max(by: { $0.count < $1.count }), keys.count > kept {
        return oldest(keys, leaving: kept, "\(keys.count) of them are one person's")
      }
      let issuers = Dictionary(grouping: count.sessions.keys) { count.sessions[$0]?.issuer ?? "" }
      guard let (issuer, keys) = issuers.max(by: { $0.value.count < $1.value.count }), issuer != room.issuer else {
        return nil
      }
      let number = issuers.count + (issuers[room.issuer] == nil ? 1 : 0)
      let share = count.sessions.count / number
      guard keys.count > share else { return nil }
      return oldest(Set(keys), leaving: share, "\(keys.count) of them are of issuer \(issuer)")
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

/// The room that a new session needs.
struct SessionRoom: Sendable, Hashable {
  /// The configured name of its issuer.
  let issuer: String
  /// Whether other sessions may end for it.
  let mayEndOthers: Bool
  /// The login that it completes.
  let spared: RecordKey?

  init(issuer: String, _ origin: LoginOrigin, sparing spared: RecordKey? = nil) {
    self.issuer = issuer
    mayEndOthers = origin.mayEndOthers
    self.spared = spared
  }
}

/// Calls of one uid that make the same room.
struct RoomFlight: Hashable, Sendable {
  let uid: UInt32
  let issuer: String
  let mayEndOthers: Bool

  init(uid: UInt32, room: SessionRoom) {
    self.uid = uid
    issuer = room.issuer
    mayEndOthers = room.mayEndOthers
  }
}
