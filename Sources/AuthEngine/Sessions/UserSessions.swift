public import HTTPMessages
import JSON
public import Support

/// Sessions: callers hold a handle, the engine holds the tokens, in a store that outlives the process.
///
/// The record in the store is the truth; what is read of it is kept in a bounded cache behind a lock that is never held
/// across a call. Renewals take turns per session: within the process by a single flight, between processes by the
/// store's leases.
public final class UserSessions: Sendable {
  struct State: Sendable {
    var sessions = BoundedCache<RecordKey, LiveSession>(capacity: 2048)
    /// Ended here: whoever read such a session before must not bring it back. Handles are never used again.
    var ended = BoundedCache<RecordKey, Bool>(capacity: 4096)
    /// What a renewal got and could not store: written before anything else is done with the session.
    var unsaved = BoundedCache<RecordKey, SessionContents>(capacity: 1024)
    /// Pauses after what token endpoints refused.
    var backoffs = BoundedCache<RenewalName, TokenBackoff>(capacity: 2048)
    /// Renewals that wait for what the access manager asked of their users.
    var held = BoundedCache<RecordKey, [HeldRenewal]>(capacity: 512)
    /// Which session is meant when a call names none.
    var choices = BoundedCache<UInt32, OwnedChoices>(capacity: 1024)
    /// Counts whatever may make a choice wrong.
    var changes: UInt64 = 0
    /// How much of each owner's is under way, whoever still waits for it.
    var works: [UInt32: Int] = [:]
    var lastGeneration: UInt64 = 0
    var purgedAt: MonotonicInstant?
  }

  /// How many sessions, and how many logins under way, one owner may have.
  static let maxRecords = 10_000

  /// How often expired records are looked for, at most.
  static let purgeInterval = Duration.seconds(600)

  /// How long a cached record is believed where other processes share the store.
  static let sharedCacheLife = Duration.seconds(2)

  let store: any RecordStore
  let isShared: Bool
  let clock: any EngineClock
  let requests: TokenRequests
  let accessManagers: AccessManagerClient
  let observer: (any SessionObserver)?
  let validator: IDTokenValidator
  let renewals: SingleFlight<RecordKey, RenewalRun, SessionError>
  let schedule = RenewalSchedule()
  let uses = SessionUses()
  /// How many tasks do what is due.
  let workers = Locked(0)
  let state = Locked(State())

  /// Sessions in `store`, which other processes use too when `isShared`.
  public init(
    store: any RecordStore, isShared: Bool = false, transport: any HTTPTransport, clock: some EngineClock,
    observer: any EngineObserver, userAgent: String, discovery: ProviderDiscovery,
    sessionObserver: (any SessionObserver)? = nil
  ) {
    self.store = store
    self.isShared = isShared
    self.clock = clock
    self.observer = sessionObserver
    let provider = ProviderClient(
      upstream: Upstream(transport: transport, clock: clock, observer: observer, userAgent: userAgent),
      discovery: discovery)
    requests = TokenRequests(provider: provider)
    accessManagers = AccessManagerClient(provider: provider)
    // An ID token is judged once: nothing to remember.
    validator = IDTokenValidator(clock: clock, cache: nil)
    renewals = SingleFlight(clock: clock)
  }

  /// The session, when `owner` has one of that handle.
  public func session(_ handle: SessionHandle, ownedBy owner: UInt32) async throws(SessionError) -> Session {
    try await live(handle, ownedBy: owner).session
  }

  /// The sessions of `owner`, the oldest first.
  public func sessions(ownedBy owner: UInt32) async throws(SessionError) -> [Session] {
    let records: [StoredRecord]
    do throws(StoreError) {
      records = try await store.records(in: .session, ownedBy: owner)
    } catch {
      throw SessionError(error)
    }
    var sessions: [Session] = []
    for record in records {
      guard let contents = SessionContents(record), let handle = SessionHandle(contents.handle) else {
        observer?.observe(.troubled("a session of the store cannot be read", detail: "\(record.key)"))
        continue
      }
      if !contents.isReserved {
        sessions.append(contents.session(handle))
      } else if let late = try? await unsavedCreation(record) {
        sessions.append(late.session)
      }
    }
    return sessions.sorted { $0.createdAt < $1.createdAt }
  }

  func live(_ handle: SessionHandle, ownedBy owner: UInt32) async throws(SessionError) -> LiveSession {
    let key = handle.key
    let now = clock.monotonicNow
    let (isEnded, cached) = state.withLock { ($0.ended[key] != nil, $0.sessions[key]) }
    guard !isEnded else { throw .notFound }
    if let cached, !isShared || now - cached.readAt < Self.sharedCacheLife {
      guard cached.owner == owner else { throw .notFound }
      return cached
    }
    guard let live = try await read(handle), live.owner == owner else { throw .notFound }
    return live
  }

  /// Lets the store forget what has expired, behind whoever makes a session: what nobody adds to does not grow.
  private func purgeNowAndThen() {
    let now = clock.monotonicNow
    let isDue = state.withLock { state in
      guard state.purgedAt.map({ $0 + Self.purgeInterval <= now }) ?? true else { return false }
      state.purgedAt = now
      return true
    }
    guard isDue else { return }
    Task { [self] in await purge() }
  }

  private func purge() async {
    do throws(StoreError) {
      while try await store.purge(expiredAt: clock.wallNow) > 0 {}
    } catch {
      observer?.observe(.troubled("what has expired cannot be removed from the store", detail: error.description))
    }
  }

  /// Adds a record; a store that is full, or an owner with too many, gets another try once what has expired is gone.
  func insert(_ record: StoredRecord) async throws(SessionError) {
    purgeNowAndThen()
    do throws(StoreError) {
      if try await insertIfRoom(record) { return }
    } catch {
      guard error.kind == .unavailable else { throw SessionError(error) }
    }
    await purge()
    let isRoom: Bool
    do throws(StoreError) {
      isRoom = try await insertIfRoom(record)
    } catch {
      throw SessionError(error)
    }
    guard isRoom else {
      throw SessionError(.overloaded(retryAfter: nil), "this peer has as many sessions or logins as it may have")
    }
  }

  private func insertIfRoom(_ record: StoredRecord) async throws(StoreError) -> Bool {
    guard try await store.count(in: record.key.collection, ownedBy: record.owner) < Self.maxRecords else {
      return false
    }
    try await store.insert(record)
    forgetChoices(of: record.owner)
    return true
  }

  /// Reads the record anew; nil when there is none.
  func read(_ handle: SessionHandle) async throws(SessionError) -> LiveSession? {
    let record: StoredRecord?
    do throws(StoreError) {
      record = try await store.record(for: handle.key)
    } catch {
      throw SessionError(error)
    }
    guard let record else {
      state.withLock { $0.sessions[handle.key] = nil }
      return nil
    }
    guard let contents = SessionContents(record), contents.handle == handle.text else {
      throw SessionError(StoreError(.corrupted, "\(record.key) is no session"))
    }
    guard !contents.isReserved else { return try await unsavedCreation(record) }
    return keep(contents, of: handle, owner: record.owner, version: record.version)
  }

  /// Puts what the store has into the cache. Tokens that were there before keep their generation.
  @discardableResult
  func keep(
    _ contents: SessionContents, of handle: SessionHandle, owner: UInt32, version: UInt64
  ) -> LiveSession {
    let readAt = clock.monotonicNow
    let key = key(of: contents, handle)
    let live = state.withLock { state in
      let known = state.sessions[handle.key]
      if let known, known.version > version { return known }
      var tokens: [TokenSlot: AccessToken] = [:]
      for stored in contents.tokens {
        if let token = known?.tokens[stored.slot], token.value.reveal() == stored.value,
          token.expiresAt == stored.expiresAt
        {
          tokens[stored.slot] = token
        } else if let binding = stored.binding(key) {
          state.lastGeneration += 1
          tokens[stored.slot] = stored.accessToken(
            generation: state.lastGeneration, binding: binding, clock: clock)
        }
      }
      let live = LiveSession(
        handle: handle, owner: owner, version: version, contents: contents, tokens: tokens, key: key,
        readAt: readAt)
      if state.ended[handle.key] == nil { state.sessions[handle.key] = live }
      return live
    }
    scheduleAnnouncement(of: live, at: readAt)
    return live
  }
}
