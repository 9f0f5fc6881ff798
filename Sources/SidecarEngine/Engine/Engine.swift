package import AuthEngine
package import HTTPMessages
package import PosternSupport
import SidecarAccess
import SidecarObservability

/// The parts of the engine that outlive a reload: caches and connections are keyed by full values, so nothing stale is
/// ever hit.
package struct Engine: Sendable {
  package let fetcher: ResourceFetcher
  package let clock: any EngineClock
  package let keySets: KeySetStore
  package let validators: TokenValidators
  package let introspector: TokenIntrospector
  package let deviceTokens: ClientCredentialsTokens
  package let sessions: UserSessions
  package let journeys: Journeys
  package let preauthorizer: Preauthorizer
  package let decisionMemory = Locked(DecisionLoad.budget)

  package init(
    transport: any HTTPTransport, clock: any EngineClock, store: SessionStorage, maxBytesPerUid: Int,
    observer: any EngineObserver & KeySetObserver & SessionObserver
  ) {
    self.clock = clock
    let userAgent = "postern/\(Product.version)"
    let discovery = ProviderDiscovery(transport: transport, clock: clock, observer: observer, userAgent: userAgent)
    deviceTokens = ClientCredentialsTokens(
      transport: transport, clock: clock, observer: observer, userAgent: userAgent, discovery: discovery)
    fetcher = ResourceFetcher(
      transport: transport, clock: clock, observer: observer, userAgent: userAgent, deviceTokens: deviceTokens)
    keySets = KeySetStore(
      transport: transport, clock: clock, observer: observer, userAgent: userAgent, discovery: discovery,
      keySetObserver: observer)
    validators = TokenValidators(clock: clock)
    introspector = TokenIntrospector(
      transport: transport, clock: clock, observer: observer, userAgent: userAgent, discovery: discovery)
    preauthorizer = Preauthorizer(
      transport: transport, clock: clock, observer: observer, userAgent: userAgent, deviceTokens: deviceTokens,
      store: store.store)
    sessions = UserSessions(
      store: store.store, isShared: store.isShared, maxBytesPerUid: maxBytesPerUid, transport: transport, clock: clock,
      observer: observer, userAgent: userAgent, discovery: discovery, deviceTokens: deviceTokens,
      sessionObserver: DecisionPurge(
        preauthorizer: preauthorizer, next: CookieForgetting(from: fetcher.cookies, then: observer)))
    journeys = Journeys(sessions: sessions)
  }
}

/// The validators of tokens, with the cache that they share.
package struct TokenValidators: Sendable {
  package let verdicts = VerdictCache()
  package let idTokens: IDTokenValidator
  package let accessTokens: AccessTokenValidator
  package let logoutTokens: LogoutTokenValidator
  /// For tokens that are verified with callers' own keys: what they use up is a memory of its own.
  package let foreignLogoutTokens: LogoutTokenValidator

  init(clock: any EngineClock) {
    idTokens = IDTokenValidator(clock: clock, cache: verdicts)
    accessTokens = AccessTokenValidator(clock: clock, cache: verdicts)
    logoutTokens = LogoutTokenValidator(clock: clock)
    foreignLogoutTokens = LogoutTokenValidator(clock: clock)
  }
}
