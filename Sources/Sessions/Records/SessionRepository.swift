package import OAuthClient
import PosternSupport
import SessionRecords

/// The sessions' records: reads, writes, lists and ends them.
///
/// The record in the store is authoritative; what was read of it is cached behind a lock that is released before any
/// call. Every write but the first is a compare-and-swap on the record's version.
package final class SessionRepository: Sendable {
  /// How many records are read and decoded at a time; other tasks run between the pieces.
  static let pieceSize = 16
  /// How long a cached record is valid where other processes share the store: a session that one of them has ended is
  /// over here after a second at most.
  static let sharedCacheLife = Duration.milliseconds(900)
  /// How long a reservation is kept for a session that was never created.
  private static let reservationLife = Duration.seconds(86_400)

  let writer: RecordWriter
  let isShared: Bool
  let selections = SelectionCache()
  let schedules = SessionSchedules()
  let clock: any EngineClock
  let observer: (any SessionObserver)?
  /// Sessions by person, of uids at their limit.
  let census = SessionCensus()
  /// Makes room, one run for each uid at a time.
  let roomFlights: SingleFlight<RoomFlight, Int, SessionError>
  let cache = Locked(SessionCache())

  init(
    writer: RecordWriter, isShared: Bool, clock: any EngineClock, observer: (any SessionObserver)?
  ) {
    self.writer = writer
    self.isShared = isShared
    self.clock = clock
    self.observer = observer
    roomFlights = SingleFlight(clock: clock, failure: SessionError.init(endOf:))
  }

  var store: any RecordStore { writer.store }

  /// Reports trouble of the writer during `call`: what it does meanwhile it does for all users.
  func trouble(in call: CallScope) -> RecordWriter.Report {
    { [observer] what, detail in observer?.observe(.troubled(what, detail: detail), in: call.shared) }
  }

  // MARK: Reading

  /// The caller's session, from the cache where that is recent enough.
  func live(_ handle: SessionHandle, in call: CallScope) async throws(SessionError) -> LiveSession {
    if let cached = try cached(handle, in: call) { return cached }
    guard let live = try await read(handle, in: call), live.uid == call.uid else { throw .notFound }
    return try await withUnsavedEnd(live, in: call)
  }

  /// The caller's session from the cache; nil when the store has to be asked.
  func cached(_ handle: SessionHandle, in call: CallScope) throws(SessionError) -> LiveSession? {
    let (isEnded, cached) = cache.withLock { ($0.ended[handle.key] != nil, $0.sessions[handle.key]) }
    guard !isEnded else { throw .notFound }
    guard let cached, !isShared || clock.monotonicNow - cached.readAt < Self.sharedCacheLife else { return nil }
    guard cached.uid == call.uid else { throw .notFound }
    return cached
  }

  /// Reads the record from the store; nil when there is none.
  func read(_ handle: SessionHandle, in call: CallScope) async throws(SessionError) -> LiveSession? {
    let stored = try await inStore { () async throws(StoreError) in
      try await store.record(for: handle.key, by: call.uid)
    }
    guard let stored else {
      cache.withLock { $0.sessions.remove(handle.key) }
      return nil
    }
    guard let contents = SessionContents(stored), contents.handle == handle.text else {
      throw SessionError(StoreError(.corrupted, "\(stored.key) is no session"))
    }
    let record = SessionRecord(handle: handle, uid: stored.uid, version: stored.version, contents: contents)
    return contents.isReserved ? try await unsavedCreation(record, in: call) : keep(record)
  }

  /// The session with the end that its issuer gave it and the store has not taken yet: the record must not bring its
  /// tokens back.
  private func withUnsavedEnd(_ live: LiveSession, in call: CallScope) async throws(SessionError) -> LiveSession {
    guard !live.contents.grant.isRejected, let unsaved = unsaved(live.handle), unsaved.grant.isRejected else {
      return live
    }
    let written = try await update(live.record, by: .refreshOutcome(under: nil), in: call) { $0 = unsaved }
    // Where the user has logged in since, nothing is written.
    cache.withLock { $0.unsaved.remove(live.handle.key) }
    return written
  }

  private func keep(_ record: SessionRecord) -> LiveSession {
    let key = key(of: record)
    let live = cache.withLock { $0.keep(record, key: key, clock: clock) }
    if let notice = SessionDuty.endNotice(of: live, on: clock) {
      add(notice, to: schedules.endNotices)
    }
    return live
  }

  /// The key of a record; the cached one where that is the same.
  private func key(of record: SessionRecord) -> DPoPKey? {
    guard let recorded = record.contents.grant.dpopKey else { return nil }
    if let known = cache.withLock({ $0.sessions[record.handle.key] }), known.contents.grant.dpopKey == recorded {
      return known.key
    }
    return DPoPKey(record: recorded)
  }

  /// Adds what is due for a session, unless it has ended while it was read.
  func add(_ entry: SessionDuty, to schedule: RefreshSchedule) {
    schedule.add(entry)
    let isEnded = cache.withLock { $0.ended[entry.handle.key] != nil }
    if isEnded { schedule.remove(entry.handle.key, of: entry.uid) }
  }

  // MARK: Creating

  /// Adds a session that is complete.
  func insert(
    _ contents: SessionContents, of handle: SessionHandle, _ room: SessionRoom, in call: CallScope
  ) async throws(SessionError) -> LiveSession {
    let record = try await add(
      contents, of: handle, expiresAt: contents.purgeable(at: clock.wallNow), room, leaving: writer.loginBytes,
      in: call)
    census.note(contents, of: handle, ownedBy: call.uid)
    selections.forget(of: call.uid)
    return try await notLoggedOut(keep(record), in: call)
  }

  /// Returns a session that has just been written, unless its issuer has ended its login meanwhile: then it is over.
  ///
  /// A logout sets its mark before it looks for sessions, so that it finds the session or this finds the mark.
  func notLoggedOut(_ live: LiveSession, in call: CallScope) async throws(SessionError) -> LiveSession {
    guard let mark = live.contents.logoutMark,
      try await inStore({ () async throws(StoreError) in
        try await mark.isSet(in: store, at: clock.wallNow, for: call.uid)
      })
    else { return live }
    _ = try await end(live.handle, ownedBy: live.uid, in: call)
    throw .loggedOut
  }

  /// Reserves the record of a session whose first token is requested next: a grant can be used once, and is sent only
  /// where a write has succeeded.
  func reserve(
    _ contents: SessionContents, of handle: SessionHandle, _ room: SessionRoom, in call: CallScope
  ) async throws(SessionError) -> SessionRecord {
    var contents = contents
    contents.isReserved = true
    let record = StoredRecord(
      key: handle.key, uid: call.uid, version: 1, expiresAt: clock.wallNow + Self.reservationLife,
      contents: try contents.storable())
    try await inStore { () async throws(StoreError) in
      do throws(StoreError) {
        try await writer.insert(
          record, leaving: writer.headroom + writer.loginBytes, mayReplace: false, by: call.uid, trouble(in: call))
      } catch {
        // Nobody has logged in yet: room is made when the session is there, and only found out here.
        guard error.kind == .overdrawn, await mayHaveRoom(room, in: call) else { throw error }
        try await writer.insert(record, sparing: room.spared, by: call.uid, trouble(in: call))
      }
    }
    return SessionRecord(handle: handle, uid: call.uid, version: 1, contents: contents)
  }

  private func add(
    _ contents: SessionContents, of handle: SessionHandle, expiresAt: Timestamp, _ room: SessionRoom,
    leaving headroom: Int, in call: CallScope
  ) async throws(SessionError) -> SessionRecord {
    let record = StoredRecord(
      key: handle.key, uid: call.uid, version: 1, expiresAt: expiresAt, contents: try contents.storable())
    try await inStore { () async throws(StoreError) in
      try await withRoom(room, of: call.uid, in: call) { (mayReplace) async throws(StoreError) in
        try await writer.insert(
          record, leaving: headroom, mayReplace: mayReplace, sparing: room.spared, by: call.uid, trouble(in: call))
      }
    }
    return SessionRecord(handle: handle, uid: call.uid, version: 1, contents: contents)
  }

  /// Adds a login in progress. It replaces older ones if they have more than their share of the bytes, and ends sessions
  /// if these have taken that share.
  func insert(login record: StoredRecord, _ room: SessionRoom, in call: CallScope) async throws(SessionError) {
    try await inStore { () async throws(StoreError) in
      try await withRoom(room, of: record.uid, in: call) { (mayReplace) async throws(StoreError) in
        try await writer.insert(record, mayReplace: mayReplace, by: call.uid, trouble(in: call))
      }
    }
  }

  /// Removes the reservation of a session that was not created.
  func cancel(_ reservation: SessionRecord, in call: CallScope) async {
    do throws(StoreError) {
      _ = try await store.remove(reservation.handle.key, by: call.uid)
    } catch {
      observer?.observe(
        .troubled("the reservation of a session cannot be removed", detail: error.description), in: call)
    }
  }

  /// Writes a new session over its reservation.
  func fill(
    _ reservation: SessionRecord, with contents: SessionContents, _ room: SessionRoom, in call: CallScope
  ) async throws(SessionError) -> LiveSession {
    var allowance = writer.allowance
    allowance.bytes -= writer.loginBytes
    return try await notLoggedOut(
      update(reservation, by: .fillReservation(within: allowance), room, in: call) { $0 = contents }, in: call)
  }

  /// Writes the session of a reservation that is in memory only; nil when there is none.
  private func unsavedCreation(
    _ reservation: SessionRecord, in call: CallScope
  ) async throws(SessionError) -> LiveSession? {
    guard let contents = unsaved(reservation.handle) else { return nil }
    // The allowance was checked when its grant was used.
    return try await notLoggedOut(
      update(reservation, by: .fillReservation(within: .unlimited), in: call) { $0 = contents }, in: call)
  }

  /// The record of a login that waits for its user; another uid's is as unknown as one that does not exist.
  func pendingLogin(_ key: RecordKey, in call: CallScope) async throws(SessionError) -> StoredRecord? {
    let record = try await inStore { () async throws(StoreError) in try await store.record(for: key, by: call.uid) }
    guard let record, record.uid == call.uid, let expiresAt = record.expiresAt, expiresAt > clock.wallNow else {
      return nil
    }
    return record
  }

  // MARK: Updating

  /// Changes a session by compare-and-swap; `policy` decides what happens when the record is not `base` any more.
  @discardableResult
  func update(
    _ base: SessionRecord, by policy: UpdatePolicy, _ room: SessionRoom? = nil, in call: CallScope,
    _ change: (inout SessionContents) -> Void
  ) async throws(SessionError) -> LiveSession {
    var current = base
    var lease = policy.lease
    var attempts = 0
    while attempts < policy.attempts {
      attempts += 1
      var contents = base.contents
      if policy.readsFirst {
        guard let read = try await read(base.handle, in: call), read.uid == base.uid else { throw .notFound }
        current = read.record
        contents = unsaved(base.handle) ?? current.contents
      }
      change(&contents)
      let record = try current.successor(contents, at: clock.wallNow)
      do throws(StoreError) {
        try await withRoom(room, of: base.uid, in: call) { (mayReplace) async throws(StoreError) in
          var allowance = policy.allowance
          if !mayReplace { allowance.replaceable = nil }
          try await writer.replace(record, under: lease, within: allowance, by: call.uid)
        }
        return written(contents, over: current)
      } catch {
        noteFailure(error, of: contents, base, policy)
        guard error.kind == .conflict || error.kind == .leaseLost, policy.attempts > 1 else {
          throw SessionError(error)
        }
      }
      guard policy.isRefresh else { continue }
      guard let theirs = try await read(base.handle, in: call) else { throw .notFound }
      guard !theirs.contents.supersedes(base.contents) else { return theirs }
      current = theirs.record
      lease = nil
    }
    throw SessionError(StoreError(.conflict, "the session is written to all the time"))
  }

  private func written(_ contents: SessionContents, over old: SessionRecord) -> LiveSession {
    cache.withLock { $0.unsaved.remove(old.handle.key) }
    census.note(contents, of: old.handle, ownedBy: old.uid)
    if contents.life.expiresAt != old.contents.life.expiresAt || old.contents.isReserved {
      selections.forget(of: old.uid)
    }
    return keep(
      SessionRecord(handle: old.handle, uid: old.uid, version: old.version + 1, contents: contents))
  }

  private func noteFailure(
    _ error: StoreError, of contents: SessionContents, _ base: SessionRecord, _ policy: UpdatePolicy
  ) {
    let key = base.handle.key
    cache.withLock { cache in
      if policy.isRefresh { cache.sessions.remove(key) }
      if error.kind == .unavailable, policy.keepsUnsaved { cache.unsaved.set(contents, for: key, of: base.uid) }
    }
  }

  /// The session with a key where its issuer binds tokens: a record from before there were keys gets its own now.
  ///
  /// The key is in the store before anything is bound to it: a refresh token may be, and would be lost with it.
  func withKey(
    _ live: LiveSession, _ issuer: SessionIssuer, _ lease: RecordLease? = nil, in call: CallScope
  ) async throws(SessionError) -> LiveSession {
    if live.key == nil { _ = try DPoPKey.recorded(live.contents.grant.dpopKey) }
    guard live.contents.grant.dpopKey == nil, let key = try issuer.newKey() else { return live }
    return try await update(live.record, by: .refreshOutcome(under: lease), in: call) { $0.grant.dpopKey = key }
  }

  /// The lease of the session's record; nil while another process has it.
  func lease(
    _ handle: SessionHandle, for duration: Duration, in call: CallScope
  ) async throws(SessionError) -> RecordLease? {
    return try await inStore { () async throws(StoreError) in
      try await store.lease(handle.key, for: duration, by: call.uid)
    }
  }

  /// The contents that the issuer's last answer made and the store has not taken yet.
  func unsaved(_ handle: SessionHandle) -> SessionContents? { cache.withLock { $0.unsaved[handle.key] } }

  /// Whether the issuer has ended the session, as far as this process knows without a look at the store.
  func isRejected(_ handle: SessionHandle) -> Bool {
    cache.withLock { ($0.unsaved[handle.key] ?? $0.sessions[handle.key]?.contents)?.grant.isRejected ?? false }
  }

  /// Writes what is in memory only. Stops at the first session that the store cannot take; that one and the rest stay
  /// in memory.
  func writeUnsaved() async {
    let call = CallScope.process
    for key in cache.withLock({ $0.unsaved.keys }) {
      guard let contents = cache.withLock({ $0.unsaved[key] }), let handle = try? SessionHandle(contents.handle) else {
        continue
      }
      do throws(SessionError) {
        // To read a session that was never written is to write it.
        guard let live = try await read(handle, in: call), let rest = unsaved(handle) else { continue }
        try await update(live.record, by: .refreshOutcome(under: nil), in: call) { $0 = rest }
      } catch {
        if case .store(let fault) = error.kind, fault.isOutage { return }
      }
    }
  }

  // MARK: Ending

  /// Removes the session from the store, and returns its latest contents; nil when another call has removed it. Where
  /// the store cannot remove it, it counts as one that its issuer has ended, until the store takes that.
  func end(
    _ handle: SessionHandle, ownedBy uid: UInt32, knownAs known: SessionContents? = nil, in call: CallScope
  ) async throws(SessionError) -> SessionContents? {
    let taken: StoredRecord?
    do throws(SessionError) {
      taken = try await inStore { () async throws(StoreError) in try await store.take(handle.key, by: call.uid) }
    } catch {
      let cached = cache.withLock { $0.sessions[handle.key].flatMap { $0.uid == uid ? $0.contents : nil } }
      if case .store(let fault) = error.kind, fault.isOutage, var contents = unsaved(handle) ?? known ?? cached {
        contents.grant.isRejected = true
        contents.life.expiresAt = clock.wallNow.millisecondsSinceEpoch
        cache.withLock { cache in
          cache.sessions.remove(handle.key)
          cache.unsaved.set(contents, for: handle.key, of: uid)
        }
        selections.forget(of: uid)
      }
      throw error
    }
    let unsaved = cache.withLock { $0.end(handle.key, of: uid) }
    forgetUpkeep(of: handle.key, ownedBy: uid)
    return taken.flatMap { unsaved ?? SessionContents($0) ?? known }
  }

  /// Rejects logins of `sid` that are under way, from now on. Where the store takes no further mark, the sessions that
  /// are complete can be ended all the same.
  package func markLogout(of sid: String, at issuer: Issuer, in call: CallScope) async throws(SessionError) {
    do throws(StoreError) {
      try await LogoutMark(sid: sid, issuer: issuer.identifier, clientID: issuer.clientID).set(
        by: writer, at: clock.wallNow, for: call.uid, trouble(in: call))
    } catch {
      guard error.kind == .overdrawn else { throw SessionError(error) }
      observer?.observe(.troubled("a logout is not noted for logins under way", detail: "there are too many"), in: call)
    }
  }

  /// Removes a session that cannot be read; its handle alone proves the right to it.
  func removeDamaged(_ handle: SessionHandle, in call: CallScope) async throws(SessionError) {
    do throws(StoreError) {
      guard try await store.remove(handle.key, by: call.uid) else { throw StoreError(.conflict, "") }
    } catch {
      throw error.kind == .conflict ? .notFound : SessionError(error)
    }
    forgetUpkeep(of: handle.key, ownedBy: call.uid)
  }

  private func forgetUpkeep(of key: RecordKey, ownedBy uid: UInt32) {
    census.remove(key, ownedBy: uid)
    schedules.remove(key, of: uid)
    selections.forget(of: uid)
  }

  // MARK: Listing

  /// Calls `body` with the uid's sessions behind `position` (0: from the first) and the position of each, the
  /// oldest first, until it returns false.
  func forEachSession(
    after position: Int64 = 0, in call: CallScope, _ body: (Session, Int64) -> Bool
  ) async throws(SessionError) {
    try await forEachRecord(ownedBy: call.uid, after: position, in: call) { contents, handle, position in
      body(contents.session(handle), position)
    }
  }

  /// Calls `body` as `forEachSession` does, with the contents of the records.
  package func forEachRecord(
    ownedBy uid: UInt32, after position: Int64 = 0, in call: CallScope,
    _ body: (SessionContents, SessionHandle, Int64) -> Bool
  ) async throws(SessionError) {
    var start: Int64? = position
    while let position = start {
      let page = try await inStore { () async throws(StoreError) in
        try await store.records(
          in: .session, ownedBy: uid, after: position, atMost: Self.pieceSize, by: call.uid)
      }
      for entry in page.entries {
        guard let (contents, handle) = await session(in: entry.record, call) else { continue }
        guard body(contents, handle, entry.position) else { return }
      }
      start = page.next
      guard start != nil else { return }
      guard !Task.isCancelled else { throw SessionError(.cancelled, "the list was cancelled") }
      // A store that never waits would not let other tasks run.
      await Task.yield()
    }
  }

  /// The session that a record holds; nil when there is none yet, or it cannot be read.
  private func session(in record: StoredRecord, _ call: CallScope) async -> (SessionContents, SessionHandle)? {
    guard let contents = SessionContents(record), let handle = try? SessionHandle(contents.handle) else {
      observer?.observe(.troubled("a session of the store cannot be read", detail: "\(record.key)"), in: call)
      return nil
    }
    guard contents.isReserved else { return (contents, handle) }
    let reservation = SessionRecord(handle: handle, uid: record.uid, version: record.version, contents: contents)
    return (try? await unsavedCreation(reservation, in: call)).map { ($0.contents, handle) }
  }
}

extension SessionContents {
  /// Whether a record with these contents takes precedence over the outcome of a refresh that began with `old`: it has
  /// a newer login, or newer tokens. A record that only notes that the old refresh token was rejected does not.
  fileprivate func supersedes(_ old: SessionContents) -> Bool {
    hasNewerLogin(than: old) || !grant.isRejected && grant.refreshToken != old.grant.refreshToken
  }

  /// Whether the user has logged in since. Without a refresh token only a login brings an ID token.
  private func hasNewerLogin(than other: SessionContents) -> Bool {
    signOn.token != other.signOn.token
      || grant.refreshToken == nil && other.grant.refreshToken == nil && user.idToken != other.user.idToken
  }
}
