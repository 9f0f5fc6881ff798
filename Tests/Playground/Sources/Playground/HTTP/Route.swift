/// A path pattern, the methods it takes, and who answers.
struct Route: Sendable {
  /// One part of a pattern between slashes.
  enum Segment: Sendable, Equatable {
    /// Exactly this, decoded.
    case literal(String)
    /// Any one non-empty segment, kept under this name.
    case capture(String)
    /// Any number of segments, only at the end.
    case rest
  }

  /// The pattern's parts.
  let segments: [Segment]
  /// The methods, or nil for any. GET includes HEAD.
  let methods: [String]?
  /// The endpoint that answers.
  let endpoint: any Endpoint

  /// A route for a pattern such as `/open/status/{n}` or `/open/echo/**`.
  init(_ methods: [String]?, _ pattern: String, _ endpoint: any Endpoint) {
    segments = pattern.split(separator: "/").map { part in
      if part == "**" { return .rest }
      if part.hasPrefix("{"), part.hasSuffix("}") { return .capture(String(part.dropFirst().dropLast())) }
      return .literal(String(part))
    }
    self.methods = methods
    self.endpoint = endpoint
  }

  /// The captures for a path of these decoded segments; nil when the path does not match.
  func captures(of path: [String]) -> [String: String]? {
    var captures: [String: String] = [:]
    for (position, segment) in segments.enumerated() {
      if segment == .rest { return captures }
      guard position < path.count else { return nil }
      switch segment {
      case .literal(let text): if path[position] != text { return nil }
      case .capture(let name):
        if path[position].isEmpty { return nil }
        captures[name] = path[position]
      case .rest: break
      }
    }
    return path.count == segments.count ? captures : nil
  }

  /// Whether the route takes `method`.
  func takes(_ method: String) -> Bool {
    guard let methods else { return true }
    return methods.contains(method == "HEAD" ? "GET" : method)
  }
}
