import HTTPMessages
import PosternSupport

/// The URLs that a server or a policy covers: those under one of its locations. The one rule of this kind in the engine.
///
/// Both sides are parsed and normalised (`HTTPURL`), so that spellings do not matter and look-alikes do: scheme, host
/// and effective port must be the same, the path must lie under the location's on a segment boundary, the query does
/// not count.
struct URLCoverage: Sendable {
  let locations: [HTTPURL]
  var plainHTTP: PlainHTTPRule
  /// Whether a location whose path does not end in `/` stands for that path alone.
  var isExact = false

  /// Whether `url` is covered: under a location, secure, and without a path that another server could read differently.
  func covers(_ url: HTTPURL) -> Bool {
    plainHTTP.permits(url) && names(url) && PathInspection.fault(in: url.path) == nil
  }

  /// Whether `url` is under a location, secure or not.
  func names(_ url: HTTPURL) -> Bool {
    locations.contains { location in
      guard isExact, location.path.utf8.last != UInt8(ascii: "/") else { return url.lies(under: location) }
      return url.origin == location.origin && url.path.hasSameBytes(as: location.path)
    }
  }

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
