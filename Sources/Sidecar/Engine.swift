import AuthEngine
import HTTPMessages
import Support

/// The parts of the engine that outlive a reload: caches and connections are keyed by full values, so nothing stale is ever hit.
struct Engine: Sendable {
  let fetcher: ResourceFetcher
  let keySets: KeySetStore
  let verdicts = VerdictCache()
  let idTokens: IDTokenValidator
  let accessTokens: AccessTokenValidator
  let logoutTokens: LogoutTokenValidator
  let introspector: TokenIntrospector

  init(transport: any HTTPTransport, clock: any EngineClock, observer: any EngineObserver & KeySetObserver) {
    let userAgent = "postern/\(Product.version)"
    let discovery = ProviderDiscovery(transport: transport, clock: clock, observer: observer, userAgent: userAgent)
    let tokens = ClientCredentialsTokens(
      transport: transport, clock: clock, observer: observer, userAgent: userAgent, discovery: discovery)
    fetcher = ResourceFetcher(
      transport: transport, clock: clock, observer: observer, userAgent: userAgent, deviceTokens: tokens)
    keySets = KeySetStore(
      transport: transport, clock: clock, observer: observer, userAgent: userAgent, discovery: discovery,
      keySetObserver: observer)
    idTokens = IDTokenValidator(clock: clock, cache: verdicts)
    accessTokens = AccessTokenValidator(clock: clock, cache: verdicts)
    logoutTokens = LogoutTokenValidator(clock: clock)
    introspector = TokenIntrospector(
      transport: transport, clock: clock, observer: observer, userAgent: userAgent, discovery: discovery)
  }
}
