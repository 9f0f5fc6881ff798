public import HTTPMessages
public import OAuthClient
public import PosternSupport

/// The published key sets of one engine: one source per place and policy, however often it is asked for.
///
/// Bounded: the source that was longest not asked for is dropped when there are too many. Sets at URLs that callers
/// name are kept apart, so that no caller can push out a configured issuer's.
public final class KeySetStore: Sendable {
  private struct Key: Hashable, Sendable {
    let place: JWKSLocation
    let policy: KeySetPolicy
  }

  /// The places that one peer has named. Peers share none, so that no peer can spend another's budget or push out its
  /// sets.
  private struct Locations: Sendable {
    var sources = BoundedCache<Key, RemoteJWKSet>(capacity: 16)
    var budgets = BoundedCache<HTTPURL.Origin, Locked<RequestBudget>>(capacity: 16)
  }

  private struct State: Sendable {
    var issuers = BoundedCache<Key, RemoteJWKSet>(capacity: KeySetStore.capacity)
    var requesters = BoundedCache<UInt32, Locations>(capacity: 256)
    /// Who asked last under a name: after a change of configuration the old source may still be there.
    var current: [String: RemoteJWKSet] = [:]
  }

  /// More issuers than anybody configures: a source that is dropped takes cool-down and stand-in with it.
  static let capacity = 1024

  private let context: KeySetContext
  private let state = Locked(State())

  /// An empty store over `transport`, which sends `userAgent` along; issuers' sets are found through `discovery`.
  public init(
    transport: any HTTPTransport, clock: any EngineClock, observer: any EngineObserver, userAgent: String,
    discovery: ProviderDiscovery, keySetObserver: (any KeySetObserver)? = nil
  ) {
    context = KeySetContext(
      upstream: Upstream(transport: transport, clock: clock, observer: observer, userAgent: userAgent),
      discovery: discovery, observer: keySetObserver)
  }

  /// The key set of `issuer`: at its configured `jwks` endpoint, or where its metadata says.
  public func source(for issuer: Issuer, policy: KeySetPolicy = KeySetPolicy()) -> RemoteJWKSet {
    let key = Key(place: .issuer(issuer), policy: policy)
    return state.withLock { state in
      let source = state.issuers[key] ?? make(key, budget: Locked(RequestBudget()))
      state.issuers[key] = source
      state.current[issuer.name] = source
      if state.current.count > Self.capacity, let other = state.current.keys.first(where: { $0 != issuer.name }) {
        state.current[other] = nil
      }
      return source
    }
  }

  /// The key set at `url`, for the peer `requester`. Whether callers may name its origin is decided before. The budget
  /// is that of the origin and the peer, and none is forgotten for another as long as there are `originCount` origins
  /// at most.
  public func source(
    at url: HTTPURL, for requester: UInt32 = 0, amongOrigins originCount: Int = 16, caFile: String? = nil,
    allowsPlainHTTPOnLoopback: Bool = false, policy: KeySetPolicy = KeySetPolicy()
  ) -> RemoteJWKSet {
    let key = Key(
      place: .location(url, caFile: caFile, allowsPlainHTTPOnLoopback: allowsPlainHTTPOnLoopback), policy: policy)
    return state.withLock { state in
      var locations = state.requesters[requester] ?? Locations()
      // A budget that is forgotten begins anew: whoever names the origins in turn would have no bound.
      locations.budgets.grow(to: originCount)
      let budget = locations.budgets[url.origin] ?? Locked(RequestBudget())
      locations.budgets[url.origin] = budget
      let source = locations.sources[key] ?? make(key, budget: budget)
      locations.sources[key] = source
      state.requesters[requester] = locations
      return source
    }
  }

  /// How the issuers' sets stand, by name: those that have been asked for.
  public func ages() -> [KeySetAge] {
    let current = state.withLock { $0.current }
    return current.map { $0.value.age(of: $0.key) }.sorted { $0.issuer < $1.issuer }
  }

  private func make(_ key: Key, budget: Locked<RequestBudget>) -> RemoteJWKSet {
    RemoteJWKSet(place: key.place, policy: key.policy, context: context, budget: budget)
  }
}
