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

  /// Runs `write`. If the uid is at its limit, ends sessions to make `room` and tries again, so that one person's many
  /// logins do not keep others from logging in. The write may replace logins in progress only if they exceed their share,
  /// or if no session can end.
  func withRoom<Value>(
    _ room: SessionRoom?, of uid: UInt32, in call: CallScope,
    _ write: (_ mayReplace: Bool) async throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    guard let room else { return try await write(true) }
    var mayReplace = false
    for _ in 1..<Self.maxAttempts {
      do throws(StoreError) {
        return try await write(mayReplace)
      } catch {
        guard error.kind == .overdrawn else { throw error }
      }
      if !mayReplace, await hasManyLogins(uid, in: call) {
        mayReplace = true
      } else {
        mayReplace = false
        guard await make(room, of: uid, in: call) else { break }
      }
    }
    return try await write(true)
  }

  /// Whether the uid's logins in progress have more than what new sessions leave to them, or are as many as there may be.
  private func hasManyLogins(_ uid: UInt32, in call: CallScope) async -> Bool {
    guard let usage = try? await store.usage(of: uid, by: call.uid) else { return false }
    return usage.bytes(in: .authorization) > writer.loginBytes
      || usage.count(in: .authorization) >= writer.allowance.count
  }

  /// Whether `withRoom` would find something that makes room.
  func mayHaveRoom(_ room: SessionRoom, in call: CallScope) async -> Bool {
    if await hasManyLogins(call.uid, in: call) { return true }
    if !census.isCurrent(for: call.uid, isShared: isShared, at: clock.monotonicNow) {
      try? await takeCensus(of: call.uid, in: call)
    }
    let choice = census.choice(
      for: call.uid, room, keeping: Self.keptOfPerson, atMost: Self.maxEndedAtOnce, at: clock.wallNow)
    guard choice == nil else { return true }
    return (try? await store.usage(of: call.uid, by: call.uid).bytes(in: .authorization)) ?? 0 > 0
  }

  /// Ends expired sessions or, if there are none and `room` may end others, those that `SessionCensus.choice` names. False
  /// if there are none. Tokens are not revoked, because an issuer may end the person's other sessions with them.
  private func make(_ room: SessionRoom, of uid: UInt32, in call: CallScope) async -> Bool {
    let ended = try? await roomFlights.value(for: RoomFlight(uid: uid, room: room), in: call.unbounded) {
      [self] call async throws(SessionError) in
      if !census.isCurrent(for: uid, isShared: isShared, at: clock.monotonicNow) {
        try await takeCensus(of: uid, in: call)
      }
      while let choice = census.choice(
        for: uid, room, keeping: Self.keptOfPerson, atMost: Self.maxEndedAtOnce, at: clock.wallNow)
      {
        var count = 0
        for session in choice.sessions {
          census.remove(session.handle.key, ownedBy: uid)
          // Another process may have changed it since.
          guard let current = try await read(session.handle, in: call), census.isAsCounted(session, current.contents)
          else {
            continue
          }
          guard try await end(session.handle, ownedBy: uid, in: call) != nil else { continue }
          count += 1
          observer?.observe(.ended(session.handle, issuer: session.issuer, uid: uid), in: call)
        }
        if let reason = choice.reason {
          observer?.observe(
            .troubled(
              "older sessions end, so that others can log in",
              detail: "user \(uid) has as many sessions as it may have, and \(reason)"), in: call)
        }
        if count > 0 { return count }
      }
      return 0
    }
    return ended ?? 0 > 0
  }

  private func takeCensus(of uid: UInt32, in call: CallScope) async throws(SessionError) {
    census.begin(for: uid, at: clock.monotonicNow)
    do throws(SessionError) {
      try await forEachRecord(ownedBy: uid, in: call) { contents, handle, _ in
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
    /// About how many bytes it takes.
    fileprivate let weight: Int
    fileprivate let path: [String]
    /// When the session last got a token: milliseconds since the epoch.
    fileprivate let tokenAt: Int64
    fileprivate let expiresAt: Int64?

    fileprivate init(_ contents: SessionContents, _ handle: SessionHandle) {
      self.handle = handle
      issuer = contents.issuer.name
      person = Person(contents)
      weight = contents.approximateBytes
      path = contents.path ?? []
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
      counts[uid]?.sessions[handle.key] = Session(contents, handle)
    }
  }

  /// Whether a session is as it was counted.
  func isAsCounted(_ session: Session, _ contents: SessionContents) -> Bool {
    let current = Session(contents, session.handle)
    return current.tokenAt == session.tokenAt && current.expiresAt == session.expiresAt
  }

  /// Notes that a session is over.
  func remove(_ key: RecordKey, ownedBy uid: UInt32) { counts.withLock { $0[uid]?.sessions[key] = nil } }

  /// The sessions to end, of those that `room` may end. Expired ones or, if there are none:
  ///
  /// 1. The oldest of the person with the most bytes among those who have more than `kept` sessions; the newest `kept`
  ///    stay.
  /// 2. The oldest of the issuer with the most bytes, if that is not the new session's issuer and has more than an equal
  ///    share.
  /// 3. The oldest of another issuer's sessions without a known person, which count as one person's; the newest `kept`
  ///    stay.
  ///
  /// Nil if there are none to end.
  func choice(for uid: UInt32, _ room: SessionRoom, keeping kept: Int, atMost most: Int, at now: Timestamp) -> Choice? {
    counts.withLock { counts in
      guard let count = counts[uid] else { return nil }
      let all = count.sessions.values
      let expired = all.lazy.filter { $0.expiresAt.map { $0 <= now.millisecondsSinceEpoch } ?? false }
      let some = Array(expired.prefix(most))
      guard some.isEmpty else { return Choice(sessions: some, reason: nil) }
      let ending = all.filter { room.mayEnd($0.path) }
      func oldest(_ sessions: [Session], _ number: Int, _ reason: String) -> Choice {
        let ordered = sessions.sorted { $0.tokenAt < $1.tokenAt }
        return Choice(sessions: Array(ordered.prefix(min(number, most))), reason: reason)
      }
      func weight(_ sessions: [Session]) -> Int { sessions.reduce(0) { $0 + $1.weight } }
      let people = Dictionary(grouping: ending.filter { $0.person != nil }) { $0.person }
      let greatest = people.values.filter { $0.count > kept }.max { weight($0) < weight($1) }
      if let greatest {
        return oldest(greatest, greatest.count - kept, "\(greatest.count) of them are one person's")
      }
      let issuers = Dictionary(grouping: all) { $0.issuer }
      let number = issuers.count + (issuers[room.issuer] == nil ? 1 : 0)
      let share = weight(Array(all)) / number
      if let first = issuers.max(by: { weight($0.value) < weight($1.value) }), first.key != room.issuer,
        weight(first.value) > share
      {
        let own = first.value.filter { room.mayEnd($0.path) }
        if !own.isEmpty { return oldest(own, most, "most of them are of issuer \(first.key)") }
      }
      let nameless = Dictionary(grouping: ending.filter { $0.person == nil && $0.issuer != room.issuer }) { $0.issuer }
      let many = nameless.values.filter { $0.count > kept }.max { weight($0) < weight($1) }
      return many.map {
        oldest($0, $0.count - kept, "\($0.count) of them are of people whom their issuer does not name")
      }
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
  /// Whether it may end sessions that other parts of the program made.
  let mayEndOthers: Bool
  /// The part of the program that makes it; nil if the program itself does.
  let level: String?
  /// The login that it completes.
  private(set) var spared: RecordKey?

  init(issuer: String, _ origin: LoginOrigin, sparing spared: RecordKey? = nil) {
    self.issuer = issuer
    mayEndOthers = origin.mayEndOthers
    level = origin.path.last
    self.spared = spared
  }

  /// The same for any login.
  fileprivate var sparingNone: SessionRoom {
    var room = self
    room.spared = nil
    return room
  }

  /// Whether it may end a session that came through `path`. It may always end those of its own part of the program, and
  /// of the parts below.
  func mayEnd(_ path: [String]) -> Bool { mayEndOthers || level.map(path.contains) ?? false }
}

/// Calls of one uid that make the same room, whatever logins they complete.
struct RoomFlight: Hashable, Sendable {
  let uid: UInt32
  let room: SessionRoom

  init(uid: UInt32, room: SessionRoom) {
    self.uid = uid
    self.room = room.sparingNone
  }
}

extension SessionContents {
  /// About how many bytes its record takes.
  fileprivate var approximateBytes: Int {
    tokens.reduce(512) { $0 + $1.value.utf8.count + 128 } + (grant.refreshToken?.utf8.count ?? 0)
      + 2 * (user.idToken?.utf8.count ?? 0) + (signOn.token?.utf8.count ?? 0)
  }
}
