import HTTPMessages
import PosternSupport

/// The URLs that a policy covers: those under one of its locations. The one rule of this kind in the engine.
///
/// Both sides are parsed and normalised (`HTTPURL`), so that spellings do not matter and look-alikes do: scheme, host
/// and effective port must be the same, the path must lie under the location's on a segment boundary, the query does
/// not count.
struct URLCoverage: Sendable {
  let locations: [HTTPURL]
  var plainHTTP: PlainHTTPRule

  /// Whether `url` is covered: under a location, secure, and without a path that another server could read differently.
  func covers(_ url: HTTPURL) -> Bool {
    plainHTTP.permits(url) && names(url) && PathInspection.fault(in: url.path) == nil
  }

  /// Whether `url` is under a location, secure or not.
  func names(_ url: HTTPURL) -> Bool { locations.contains { url.lies(under: $0) } }

  /// The locations that cover no URL: they are not secure, or no URL of `servers` lies there.
  func idleURLs(among servers: [ResourceServer]) -> [HTTPURL] {
    let reachable = servers.flatMap { [$0.baseURL] + $0.additionalOrigins }
    return locations.filter { location in
      !covers(location) || !reachable.contains { $0.lies(under: location) || location.lies(under: $0) }
    }
  }
}

extension URLCoverage: CustomStringConvertible {
  /// The locations without their queries.
  var description: String { Concise.list(locations.map { "\($0.withoutQuery)" }, of: "URL") }
}
