public import HTTPMessages
public import OAuthClient
public import PosternSupport

/// The published key sets of one engine: one source per location and policy.
///
/// Bounded: the least recently used source is dropped when there are too many. Sets at URLs that callers name are
/// cached separately, so that no caller can displace a configured issuer's.
public final class KeySetStore: Sendable {
  private struct Key: Hashable, Sendable {
    let location: JWKSLocation
    let policy: KeySetPolicy
  }

  /// The locations that one peer has named. Peers share none, so that no peer can use up another's budget or displace
  /// its sets.
  private struct Locations: Sendable {
    var sources = BoundedCache<Key, RemoteJWKSet>(capacity: 16)
    var budgets = BoundedCache<HTTPURL.Origin, Locked<RequestBudget>>(capacity: 16)
  }

  private struct State: Sendable {
    var issuers = BoundedCache<Key, RemoteJWKSet>(capacity: KeySetStore.capacity)
    var locations = BoundedCache<UInt32, Locations>(capacity: 256)
    /// The latest source of each issuer's name: after a change of the configuration the old one may still exist.
    var current: [String: RemoteJWKSet] = [:]
  }

  /// More issuers than a configuration has: a dropped source loses its cool-down and its old set.
  static let capacity = 1024

  /// Sets that callers pass along.
  package let given = GivenKeySets()

  private let context: KeySetContext
  private let state = Locked(State())

  /// An empty store; issuers' sets are found through `discovery`.
  package init(
    _ services: Services, discovery: ProviderDiscovery, keySetObserver: (any KeySetObserver)? = nil
  ) {
    context = KeySetContext(services: services, discovery: discovery, observer: keySetObserver)
  }

  /// Returns the key set of `issuer`: at its configured `jwks` endpoint, or the one in its metadata.
  public func source(for issuer: Issuer, policy: KeySetPolicy = KeySetPolicy()) -> RemoteJWKSet {
    let key = Key(location: .issuer(issuer), policy: policy)
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

  /// Returns the key set at `url`, for `uid`. The caller has checked that its origin is allowed. Each origin has one
  /// request budget per uid, and no budget is dropped for another while there are at most `originCount` origins.
  public func source(
    at url: HTTPURL, for uid: UInt32 = 0, amongOrigins originCount: Int = 16, access: ServerAccess = ServerAccess(),
    policy: KeySetPolicy = KeySetPolicy()
  ) -> RemoteJWKSet {
    let key = Key(location: .location(url, access), policy: policy)
    return state.withLock { state in
      var locations = state.locations[uid] ?? Locations()
      // A dropped budget would start again in full: a caller that names one origin after the other would have no bound.
      locations.budgets.grow(to: originCount)
      let budget = locations.budgets[url.origin] ?? Locked(RequestBudget())
      locations.budgets[url.origin] = budget
      let source = locations.sources[key] ?? make(key, budget: budget)
      locations.sources[key] = source
      state.locations[uid] = locations
      return source
    }
  }

  /// Returns the ages of the issuers' sets, by name, for those that have been used.
  public func ages() -> [KeySetAge] {
    let current = state.withLock { $0.current }
    return current.map { $0.value.age(of: $0.key) }.sorted { $0.issuer < $1.issuer }
  }

  private func make(_ key: Key, budget: Locked<RequestBudget>) -> RemoteJWKSet {
    RemoteJWKSet(location: key.location, policy: key.policy, context: context, budget: budget)
  }
}

/// The name of a published key set in events and health.
public enum KeySetName: Sendable, Hashable {
  /// The set of the configured issuer of that name.
  case issuer(String)
  /// The set that a caller named by its URL; the query is left out.
  case location(HTTPURL)

  /// The name with bounded cardinality: a caller's URL is reduced to its origin.
  var bounded: String {
    switch self {
    case .issuer(let name): name
    case .location(let url): url.origin.description
    }
  }
}

extension KeySetName: ConciseStringConvertible {
  /// The issuer's name, or the URL without its query.
  public var description: String {
    switch self {
    case .issuer(let name): name
    case .location(let url): url.withoutQuery.description
    }
  }
}

extension KeySetStore: ConciseStringConvertible {}
