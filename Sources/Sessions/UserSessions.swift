package import AccessManagement
public import HTTPMessages
public import OAuthClient
import PosternJSON
public import PosternSupport
public import SessionRecords
import TokenValidation

/// Sessions: callers hold a handle, the engine holds the tokens, in a store that outlives the process.
///
/// The record in the store is the truth; what is read of it is kept in a bounded cache behind a lock that is never held
/// across a call. Renewals take turns per session: within the process by a single flight, between processes by the
/// store's leases.
public final class UserSessions: Sendable {
  struct State: Sendable {
    var sessions = FairCache<UInt32, RecordKey, LiveSession>(capacity: 2048)
    /// Ended here: whoever read such a session before must not bring it back. Handles are never used again.
    var ended = FairCache<UInt32, RecordKey, Bool>(capacity: 4096)
    /// What a renewal got and could not store: written before anything else is done with the session.
    var unsaved = FairCache<UInt32, RecordKey, SessionContents>(capacity: 1024)
    /// Pauses after what token endpoints refused.
    var backoffs = FairCache<UInt32, RefreshKey, TokenBackoff>(capacity: 2048)
    /// Renewals that wait for what the access manager asked of their users.
    var held = FairCache<UInt32, RecordKey, [HeldRenewal]>(capacity: 512)
    /// Which session is meant when a call names none.
    var choices = BoundedCache<UInt32, OwnedChoices>(capacity: 1024)
    /// Whose choices are being read, and whether that owner's sessions have changed since.
    var readings: [UInt32: ChoiceReadings] = [:]
    /// How much of each owner's is under way, whoever still waits for it.
    var works: [UInt32: Int] = [:]
    var lastGeneration: UInt64 = 0
    var purgedAt: MonotonicInstant?
  }

  /// How many sessions, how many logins under way and how many profiles one owner may have.
  static let maxRecords = 10_000

  /// How many bytes of records one owner may have before nothing is added, where nothing else is said.
  public static let defaultMaxOwnerBytes = 64 << 20

  /// How often expired records are looked for, at most.
  static let purgeInterval = Duration.seconds(600)

  /// How long a cached record is believed where other processes share the store.
  static let sharedCacheLife = Duration.seconds(2)

  let store: any RecordStore
  let isShared: Bool
  let maxOwnerBytes: Int
  package let clock: any EngineClock
  let requests: TokenRequests
  package let accessManagers: AccessManagerClient
  /// Whose tokens are everybody's.
  let deviceTokens: ClientCredentialsTokens?
  let observer: (any SessionObserver)?
  let validator: IDTokenValidator
  let renewals: SingleFlight<RecordKey, RefreshOutcome, SessionError>
  /// The tokens that are renewed before they expire.
  let schedule = RenewalSchedule()
  /// The ends that are announced: they wait for no renewal.
  let announcements = RenewalSchedule()
  let uses = SessionUses()
  let state = Locked(State())

  /// Sessions in `store`, which other processes use too when `isShared`. An owner whose records have `maxOwnerBytes`
  /// gets no further ones. None has one of `deviceTokens` revoked, since all owners share them.
  public init(
    store: any RecordStore, isShared: Bool = false, maxOwnerBytes: Int = UserSessions.defaultMaxOwnerBytes,
    transport: any HTTPTransport, clock: some EngineClock, observer: any EngineObserver, userAgent: String,
    discovery: ProviderDiscovery, deviceTokens: ClientCredentialsTokens? = nil,
    sessionObserver: (any SessionObserver)? = nil
  ) {
    self.store = store
    self.isShared = isShared
    self.maxOwnerBytes = maxOwnerBytes
    self.deviceTokens = deviceTokens
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

  package func live(_ handle: SessionHandle, ownedBy owner: UInt32) async throws(SessionError) -> LiveSession {
    let key = handle.key
    let now = clock.monotonicNow
    let (isEnded, cached) = state.withLock { ($0.ended[key] != nil, $0.sessions[key]) }
    guard !isEnded else { throw .notFound }
    if let cached, !isShared || now - cached.readAt < Self.sharedCacheLife {
      guard cached.owner == owner else { throw .notFound }
      return cached
    }
    guard let live = try await read(handle), live.owner == owner else { throw .notFound }
    return try await withUnsavedEnd(live)
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
      state.withLock { $0.sessions.remove(handle.key) }
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
      if state.ended[handle.key] == nil { state.sessions.set(live, for: handle.key, of: owner) }
      return live
    }
    scheduleAnnouncement(of: live, at: readAt)
    return live
  }
}
