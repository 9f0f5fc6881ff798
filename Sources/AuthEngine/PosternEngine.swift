public import Entitlements
public import HTTPMessages
public import OAuthClient
public import PosternSupport
public import ResourceAccess
public import SDKCompatibility
public import SessionRecords
public import Sessions
public import StepUp
public import TokenValidation

/// The parts of the engine over one transport: what they share (clock, observers, user agent, caches) is given once.
///
/// Create one for the life of the process. Issuers, resource servers and decision points come with every call, so a
/// configuration can change meanwhile: caches are keyed by full values, and nothing stale is ever hit.
public struct PosternEngine: Sendable {
  /// The observers of the engine, for metrics and logs.
  public struct Observers: Sendable {
    /// Observes requests to other servers, and their outcomes.
    public var engine: any EngineObserver = SilentObserver()
    /// Observes key sets; nil: there is none.
    public var keySets: (any KeySetObserver)?
    /// Observes sessions; nil: there is none.
    public var sessions: (any SessionObserver)?

    /// No observer, until one is set.
    public init() {}
  }

  /// The storage of sessions.
  public struct SessionStorage: Sendable {
    /// The store.
    public var store: any RecordStore
    /// Whether other processes use it, too.
    public var isShared: Bool
    /// How many bytes of records one uid may have before nothing is added.
    public var maxBytesPerUid: Int

    /// Sessions in `store`; by default in memory, for this process only.
    public init(
      _ store: any RecordStore = MemoryRecordStore(), isShared: Bool = false,
      maxBytesPerUid: Int = UserSessions.defaultMaxBytesPerUid
    ) {
      self.store = store
      self.isShared = isShared
      self.maxBytesPerUid = maxBytesPerUid
    }
  }

  /// The clock of all parts.
  public let clock: any EngineClock
  /// Fetches protected resources.
  public let fetcher: ResourceFetcher
  /// Users' sessions.
  public let sessions: UserSessions
  /// Walks through the trees of access managers.
  public let journeys: Journeys
  /// Evaluates entitlements.
  public let preauthorizer: Preauthorizer
  /// Tokens from client credentials.
  public let deviceTokens: ClientCredentialsTokens
  /// Tokens on behalf of users, whose inbound tokens `inboundToken(_:audience:for:from:tokens:keys:in:)`
  /// validates.
  public let exchangedTokens: ExchangedTokens
  /// The key sets of issuers.
  public let keySets: KeySetStore
  /// Validates tokens by keys.
  public let validators: TokenValidators
  /// Validates tokens by their issuer's introspection endpoint.
  public let introspector: TokenIntrospector

  /// An engine over `transport`, with `userAgent` as its product name, as in `shop/1.0`.
  public init(
    transport: any HTTPTransport, clock: any EngineClock = SystemClock(), userAgent: String,
    storage: SessionStorage = SessionStorage(), observers: Observers = Observers()
  ) {
    self.clock = clock
    let services = Services(transport: transport, clock: clock, observer: observers.engine, userAgent: userAgent)
    let discovery = ProviderDiscovery(services)
    deviceTokens = ClientCredentialsTokens(services, discovery: discovery)
    exchangedTokens = ExchangedTokens(sharing: deviceTokens)
    fetcher = ResourceFetcher(services, deviceTokens: deviceTokens, exchangedTokens: exchangedTokens)
    keySets = KeySetStore(services, discovery: discovery, keySetObserver: observers.keySets)
    introspector = TokenIntrospector(services, discovery: discovery)
    validators = TokenValidators(clock: clock, introspector: introspector, store: storage.store)
    preauthorizer = Preauthorizer(services, deviceTokens: deviceTokens, store: storage.store)
    sessions = UserSessions(
      services, store: storage.store, isShared: storage.isShared, maxBytesPerUid: storage.maxBytesPerUid,
      discovery: discovery, deviceTokens: deviceTokens,
      sessionObserver: DecisionForgetting(
        preauthorizer: preauthorizer, next: CookieForgetting(from: fetcher.cookies, then: observers.sessions)))
    journeys = Journeys(sessions: sessions)
  }

  /// The issuer with the rules for its ID tokens and the source of its keys, as sessions need it.
  public func sessionIssuer(
    _ issuer: Issuer, tokens: IDTokenConfiguration? = nil, scope: String? = nil
  ) -> SessionIssuer {
    SessionIssuer(
      issuer: issuer, tokens: tokens ?? IDTokenConfiguration(issuer: issuer.identifier),
      keys: keySets.source(for: issuer), scope: scope)
  }

  /// A client of `server` without users, for `uid`.
  public func deviceClient(of server: ResourceServer, uid: UInt32 = PeerID.ownUID) -> DeviceClient {
    DeviceClient(fetcher: fetcher, server: server, uid: uid)
  }

  /// A client of `server` for the sessions that `uid` has at `issuer`; see `UserClient`.
  public func userClient(
    of server: ResourceServer, at issuer: SessionIssuer, uid: UInt32, session: SessionHandle? = nil,
    implicitSession: SessionHandle? = nil
  ) -> UserClient {
    UserClient(
      fetcher: fetcher, server: server, sessions: sessions, issuer: issuer, uid: uid, session: session,
      implicitSession: implicitSession)
  }
}

/// The validators of tokens, with the cache that they share.
public struct TokenValidators: Sendable {
  /// The verdicts on tokens that were valid.
  public let verdicts = VerdictCache()
  /// For ID tokens.
  public let idTokens: IDTokenValidator
  /// For access tokens that are JWTs.
  public let accessTokens: AccessTokenValidator
  /// For logout tokens.
  public let logoutTokens: LogoutTokenValidator
  /// For logout tokens that are verified with callers' own keys: their replays have a memory of their own.
  package let foreignLogoutTokens: LogoutTokenValidator
  /// For requests that others have sent, and for their tokens.
  let requests: RequestValidator

  init(clock: any EngineClock, introspector: TokenIntrospector, store: any RecordStore) {
    idTokens = IDTokenValidator(clock: clock, cache: verdicts)
    accessTokens = AccessTokenValidator(clock: clock, cache: verdicts)
    logoutTokens = LogoutTokenValidator(clock: clock)
    foreignLogoutTokens = LogoutTokenValidator(clock: clock)
    let judge = TokenJudge(
      validator: accessTokens, answers: IntrospectionAnswers(introspector: introspector, clock: clock))
    requests = RequestValidator(judge: judge, store: store, clock: clock)
  }
}

/// Removes a session's decisions when it ends or its user has authenticated again, before another observer sees that.
private struct DecisionForgetting: SessionObserver {
  let preauthorizer: Preauthorizer
  let next: any SessionObserver

  func observe(_ event: SessionEvent, in call: CallScope) {
    switch event {
    case .ended(let handle, _, let uid), .steppedUp(let handle, let uid):
      _ = preauthorizer.forget(DecisionSelection(uid: uid, session: handle))
    case .refreshed, .expiring, .refreshFailed, .idTokenRejected, .troubled: break
    }
    next.observe(event, in: call)
  }
}

extension PosternEngine: ConciseStringConvertible {}

extension PosternEngine.Observers: ConciseStringConvertible {}

extension PosternEngine.SessionStorage: ConciseStringConvertible {
  /// The store.
  public var description: String { Concise.text("\(store)", isShared ? "shared" : nil) }
}

extension TokenValidators: ConciseStringConvertible {}
