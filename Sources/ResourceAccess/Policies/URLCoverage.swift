import HTTPMessages
import OAuthClient

/// Which URLs a policy is for: those under one of its places. The one rule of this kind in the engine.
///
/// Both sides are parsed and normalised (`HTTPURL`), so that spellings do not matter and look-alikes do: scheme, host
/// and effective port must be the same, the path must lie under the place's on a segment boundary, the query does not
/// count.
struct URLCoverage: Sendable {
  let places: [HTTPURL]
  let allowsPlainHTTPOnLoopback: Bool

  /// Whether `url` is covered: under a place, secure, and without a path that another server could read differently.
  func covers(_ url: HTTPURL) -> Bool {
    url.isSecure(allowingPlainHTTPOnLoopback: allowsPlainHTTPOnLoopback) && places.contains { url.lies(under: $0) }
      && PathInspection.fault(in: url.path) == nil
  }

  /// The places at which nothing can come of the coverage: they are not secure, or no URL of `servers` lies there.
  func idlePlaces(among servers: [ResourceServer]) -> [HTTPURL] {
    let reachable = servers.flatMap { [$0.baseURL] + $0.additionalOrigins }
    return places.filter { place in
      !covers(place) || !reachable.contains { $0.lies(under: place) || place.lies(under: $0) }
    }
  }
}
