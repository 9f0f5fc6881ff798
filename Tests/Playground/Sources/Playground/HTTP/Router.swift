/// The table of routes; itself an endpoint, so that it can be called like any other.
struct Router: Endpoint {
  private let routes: [Route]

  /// A router over `routes`; the first match wins.
  init(_ routes: [Route]) { self.routes = routes }

  /// The matching endpoint's answer; 404 without one, 405 when only the method is wrong (RFC 9110 section 15.5.6), 400
  /// for a path that is none.
  func reply(to request: Request) async throws -> Reply {
    guard request.path.hasPrefix("/"), let path = Self.segments(of: request.path) else {
      return .problem(400, "the request target is not an absolute path")
    }
    var allowed: [String] = []
    for route in routes {
      guard let captures = route.captures(of: path) else { continue }
      if route.takes(request.method) {
        var request = request
        request.captures = captures
        return try await route.endpoint.reply(to: request)
      }
      allowed += route.methods ?? []
    }
    if allowed.isEmpty { return .problem(404, "no such path here") }
    if allowed.contains("GET") { allowed.append("HEAD") }
    return .problem(405, "this path takes other methods", headers: [("allow", allowed.joined(separator: ", "))])
  }

  /// The decoded parts of a path; nil when an escape is malformed. Dot segments are not resolved: they match nothing.
  private static func segments(of path: String) -> [String]? {
    var segments: [String] = []
    for part in path.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
      guard let decoded = PercentCoding.decode(part, plusIsSpace: false) else { return nil }
      segments.append(decoded)
    }
    return segments
  }
}
