public import HTTPMessages
public import Support

/// The published key sets of one engine: one source per place and policy, however often it is asked for.
///
/// Bounded: the source that was longest not asked for is dropped when there are too many. Sets at URLs that callers
/// name are kept apart, so that no caller can push out a configured issuer's.
public final class KeySetStore: Sendable {
  private struct Key: Hashable, Sendable {
    let place: KeySetPlace
    let policy: KeySetPolicy
  }

  private struct State: Sendable {
    var issuers = BoundedCache<Key, PublishedKeySource>(capacity: KeySetStore.capacity)
    var locations = BoundedCache<Key, PublishedKeySource>(capacity: KeySetStore.capacity)
    var budgets = BoundedCache<HTTPURL.Origin, Locked<RequestBudget>>(capacity: KeySetStore.capacity)
    /// Who asked last under a name: after a change of configuration the old source may still be there.
    var current: [String: PublishedKeySource] = [:]
  }

  static let capacity = 64

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
  public func source(for issuer: Issuer, policy: KeySetPolicy = KeySetPolicy()) -> PublishedKeySource {
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

  /// The key set at `url`. Whether callers may name its origin is decided before. The budget is the origin's.
  public func source(
    at url: HTTPURL, caFile: String? = nil, allowsPlainHTTPOnLoopback: Bool = false,
    policy: KeySetPolicy = KeySetPolicy()
  ) -> PublishedKeySource {
    let key = Key(
      place: .location(url, caFile: caFile, allowsPlainHTTPOnLoopback: allowsPlainHTTPOnLoopback), policy: policy)
    return state.withLock { state in
      let budget = state.budgets[url.origin] ?? Locked(RequestBudget())
      state.budgets[url.origin] = budget
      let source = state.locations[key] ?? make(key, budget: budget)
      state.locations[key] = source
      return source
    }
  }

  /// How the issuers' sets stand, by name: those that have been asked for.
  public func ages() -> [KeySetAge] {
    let current = state.withLock { $0.current }
    return current.map { $0.value.age(of: $0.key) }.sorted { $0.issuer < $1.issuer }
  }

  private func make(_ key: Key, budget: Locked<RequestBudget>) -> PublishedKeySource {
    PublishedKeySource(place: key.place, policy: key.policy, context: context, budget: budget)
  }
}
