public import AccessManagement
public import Entitlements
public import HTTPMessages
public import KeySets
public import OAuthClient
public import PosternJSON
public import PosternSupport
public import ResourceAccess
public import SDKCompatibility
public import SessionRecords
public import Sessions
public import StepUp
public import TokenValidation

// Names that programs may still use.

/// See `RemoteJWKSet`.
@available(*, deprecated, renamed: "RemoteJWKSet")
public typealias PublishedKeySource = RemoteJWKSet

/// See `StaticJWKSet`.
@available(*, deprecated, renamed: "StaticJWKSet")
public typealias FixedKeySource = StaticJWKSet

/// See `DecisionCounts`.
@available(*, deprecated, renamed: "DecisionCounts")
public typealias DecisionTally = DecisionCounts

/// See `DecisionClient`.
@available(*, deprecated, renamed: "DecisionClient")
public typealias DecisionLink = DecisionClient

extension FetchOptions {
  /// See `cookieScope`.
  @available(*, deprecated, renamed: "cookieScope")
  public var cookieOwner: CookieScope? {
    get { context.cookieScope }
    set { context.cookieScope = newValue }
  }

  /// See `peerID`.
  @available(*, deprecated, renamed: "peerID")
  public var requester: PeerID {
    get { context.peerID }
    set { context.peerID = newValue }
  }
}

/// See `DecisionContextError`.
@available(*, deprecated, renamed: "DecisionContextError")
public typealias DecisionContextComplaint = DecisionContextError

extension DecisionSubject {
  /// See `uid`.
  @available(*, deprecated, renamed: "uid")
  public var owner: UInt32 { uid }

  /// See `init(type:id:properties:uid:)`.
  @available(*, deprecated, renamed: "init(type:id:properties:uid:)")
  public init(type: String? = nil, id: String, properties: JSONObject = JSONObject(), owner: UInt32) {
    self.init(type: type, id: id, properties: properties, uid: owner)
  }
}

extension DecisionSelection {
  /// See `uid`.
  @available(*, deprecated, renamed: "uid")
  public var owner: UInt32? {
    get { uid }
    set { uid = newValue }
  }
}

extension DecisionCounts {
  /// See `wasQueried`.
  @available(*, deprecated, renamed: "wasQueried")
  public var asked: Bool { wasQueried }
}

extension Preauthorizer {
  /// See `forgetInParts`.
  @available(*, deprecated, renamed: "forgetInParts")
  public func forgetInTurns(_ selection: DecisionSelection) async -> Int { await forgetInParts(selection) }
}

extension AccessToken {
  /// See `usableUntil`.
  @available(*, deprecated, renamed: "usableUntil")
  public var renewal: MonotonicInstant { usableUntil }
}

extension AdviceRecognizer.Scope {
  /// See `denials`.
  @available(*, deprecated, renamed: "denials")
  public static var refusals: AdviceRecognizer.Scope { .denials }
}

/// See `DecisionRateLimiter`.
@available(*, deprecated, renamed: "DecisionRateLimiter")
public typealias DecisionPace = DecisionRateLimiter

extension ResourceServer.Authentication {
  /// See `clientCredentials`.
  @available(*, deprecated, renamed: "clientCredentials")
  public static var device: ResourceServer.Authentication { .clientCredentials }
}

extension DecisionCredential {
  /// See `clientCredentials`.
  @available(*, deprecated, renamed: "clientCredentials")
  public static func device(_ grant: ClientCredentialsGrant) -> DecisionCredential { .clientCredentials(grant) }
}

extension DecisionPoint.Settings {
  /// See `rateLimit`.
  @available(*, deprecated, renamed: "rateLimit")
  public var pace: DecisionRateLimiter? {
    get { requests.rateLimit }
    set { requests.rateLimit = newValue }
  }
}

/// See `CookieScope`.
@available(*, deprecated, renamed: "CookieScope")
public typealias CookieOwner = CookieScope

extension PayloadEncryption {
  /// See `KeyError`.
  @available(*, deprecated, renamed: "KeyError")
  public typealias Misfit = KeyError
}

extension TokenManagementPolicy {
  /// See `requiresRefresh(_:of:)`.
  @available(*, deprecated, renamed: "requiresRefresh(_:of:)")
  public func requiresRenewal(_ response: HTTPResponse, of token: AccessToken) async -> Bool {
    await requiresRefresh(response, of: token)
  }
}

extension FetchAdvice {
  /// See `consultsDelegate`.
  @available(*, deprecated, renamed: "consultsDelegate")
  public var asksAboutAnswers: Bool {
    get { consultsDelegate }
    set { consultsDelegate = newValue }
  }

  /// See `delegateID`.
  @available(*, deprecated, renamed: "delegateID")
  public var asked: UInt64? {
    get { delegateID }
    set { delegateID = newValue }
  }
}

/// See `SuspendedAuthorization`.
@available(*, deprecated, renamed: "SuspendedAuthorization")
public typealias HeldAuthorization = SuspendedAuthorization

extension FetchSession {
  /// See `uid`.
  @available(*, deprecated, renamed: "uid")
  public var owner: UInt32 { uid }
}

extension StoredRecord {
  /// See `uid`.
  @available(*, deprecated, renamed: "uid")
  public var owner: UInt32 {
    get { uid }
    set { uid = newValue }
  }

  /// See `init(key:uid:version:expiresAt:contents:)`.
  @available(*, deprecated, renamed: "init(key:uid:version:expiresAt:contents:)")
  public init(key: RecordKey, owner: UInt32, version: UInt64, expiresAt: Timestamp?, contents: Secret<[UInt8]>) {
    self.init(key: key, uid: owner, version: version, expiresAt: expiresAt, contents: contents)
  }
}

extension RecordStore {
  /// See `beginRetention(isNested:)`.
  @available(*, deprecated, renamed: "beginRetention(isNested:)")
  public func hold(isNested: Bool) throws(StoreError) { try beginRetention(isNested: isNested) }

  /// See `endRetention`.
  @available(*, deprecated, renamed: "endRetention")
  public func letGo() { endRetention() }
}

extension SessionError.Kind {
  /// See `noCapacity`.
  @available(*, deprecated, renamed: "noCapacity")
  public static var noRoom: SessionError.Kind { .noCapacity }
}

extension SessionEvent {
  /// See `refreshed(_:uid:)`.
  @available(*, deprecated, renamed: "refreshed(_:uid:)")
  public static func refreshed(_ session: Session, owner: UInt32) -> SessionEvent { .refreshed(session, uid: owner) }

  /// See `steppedUp(_:uid:)`.
  @available(*, deprecated, renamed: "steppedUp(_:uid:)")
  public static func steppedUp(_ handle: SessionHandle, owner: UInt32) -> SessionEvent {
    .steppedUp(handle, uid: owner)
  }

  /// See `ended(_:issuer:uid:)`.
  @available(*, deprecated, renamed: "ended(_:issuer:uid:)")
  public static func ended(_ handle: SessionHandle, issuer: String, owner: UInt32) -> SessionEvent {
    .ended(handle, issuer: issuer, uid: owner)
  }

  /// See `expiring(_:uid:)`.
  @available(*, deprecated, renamed: "expiring(_:uid:)")
  public static func expiring(_ session: Session, owner: UInt32) -> SessionEvent { .expiring(session, uid: owner) }

  /// See `refreshFailed(_:issuer:error:)`.
  @available(*, deprecated, renamed: "refreshFailed(_:issuer:error:)")
  public static func renewalFailed(_ handle: SessionHandle, issuer: String, error: SessionError) -> SessionEvent {
    .refreshFailed(handle, issuer: issuer, error: error)
  }

  /// See `idTokenRejected(issuer:fault:)`.
  @available(*, deprecated, renamed: "idTokenRejected(issuer:fault:)")
  public static func idTokenRefused(issuer: String, fault: TokenFault) -> SessionEvent {
    .idTokenRejected(issuer: issuer, fault: fault)
  }
}

extension UserSessions {
  /// See `defaultMaxBytesPerUid`.
  @available(*, deprecated, renamed: "defaultMaxBytesPerUid")
  public static var defaultMaxOwnerBytes: Int { defaultMaxBytesPerUid }

  /// See the initialiser with `maxBytesPerUid`.
  @available(*, deprecated, message: "`maxOwnerBytes` is `maxBytesPerUid`")
  public convenience init(
    store: any RecordStore, isShared: Bool = false, maxOwnerBytes: Int, transport: any HTTPTransport,
    clock: some EngineClock, observer: any EngineObserver, userAgent: String, discovery: ProviderDiscovery,
    deviceTokens: ClientCredentialsTokens? = nil, sessionObserver: (any SessionObserver)? = nil
  ) {
    self.init(
      store: store, isShared: isShared, maxBytesPerUid: maxOwnerBytes, transport: transport, clock: clock,
      observer: observer, userAgent: userAgent, discovery: discovery, deviceTokens: deviceTokens,
      sessionObserver: sessionObserver)
  }
}

extension Journeys {
  /// See `resume(_:callbacks:ownedBy:issuer:answers:deadline:trace:)`.
  @available(*, deprecated, renamed: "resume(_:callbacks:ownedBy:issuer:answers:deadline:trace:)")
  public func goOn(
    _ continuation: String, callbacks: [JSONValue]?, ownedBy uid: UInt32,
    issuer: (String) throws(SessionError) -> SessionIssuer, answers: JourneyAnswers = JourneyAnswers(),
    deadline: Deadline = .never, trace: TraceContext? = nil
  ) async throws(JourneyError) -> JourneyOutcome {
    try await resume(
      continuation, callbacks: callbacks, ownedBy: uid, issuer: issuer, answers: answers, deadline: deadline,
      trace: trace)
  }
}

extension UserClient {
  /// See `init(fetcher:server:sessions:issuer:uid:session:implicitSession:)`.
  @available(*, deprecated, renamed: "init(fetcher:server:sessions:issuer:uid:session:implicitSession:)")
  public init(
    fetcher: ResourceFetcher, server: ResourceServer, sessions: UserSessions, issuer: SessionIssuer, owner: UInt32,
    session: SessionHandle? = nil, implicitSession: SessionHandle? = nil
  ) {
    self.init(
      fetcher: fetcher, server: server, sessions: sessions, issuer: issuer, uid: owner, session: session,
      implicitSession: implicitSession)
  }
}
