import AuthEngine
import HTTPMessages
import Support

/// The parts of the engine that outlive a reload: caches and connections are keyed by full values, so nothing stale is ever hit.
struct Engine: Sendable {
  let fetcher: ResourceFetcher

  init(transport: any HTTPTransport, clock: any EngineClock, observer: any EngineObserver) {
    let userAgent = "postern/\(Product.version)"
    let discovery = ProviderDiscovery(transport: transport, clock: clock, observer: observer, userAgent: userAgent)
    let tokens = ClientCredentialsTokens(
      transport: transport, clock: clock, observer: observer, userAgent: userAgent, discovery: discovery)
    fetcher = ResourceFetcher(
      transport: transport, clock: clock, observer: observer, userAgent: userAgent, deviceTokens: tokens)
  }
}
