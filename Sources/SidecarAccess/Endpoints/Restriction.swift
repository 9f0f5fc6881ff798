/// What an endpoint, or `narrow`, leaves of what its maker may do. A list that is nil is the maker's; an empty one is
/// nothing.
package struct Restriction: Sendable, Hashable {
  /// The methods of the wire contract, as in a rule of `peers`.
  package var methods: Set<String>?
  /// The names of resources.
  package var resources: Set<String>?
  /// The HTTP methods of fetches, in capitals.
  package var httpMethods: Set<String>?
  /// The paths of fetches, relative to the resource's base URL.
  package var paths: Set<PathPrefix>?
  /// The handles of sessions.
  package var sessions: Set<String>?

  package init(
    methods: Set<String>? = nil, resources: Set<String>? = nil, httpMethods: Set<String>? = nil,
    paths: Set<PathPrefix>? = nil, sessions: Set<String>? = nil
  ) {
    self.methods = methods
    self.resources = resources
    self.httpMethods = httpMethods
    self.paths = paths
    self.sessions = sessions
  }
}

/// A path relative to a resource's base URL, in whole segments: `orders` is that path alone, `orders/` what is below.
package struct PathPrefix: Sendable, Hashable {
  /// The segments, without dots and encodings.
  package let segments: [String]
  /// Whether it is a prefix.
  package let includesBelow: Bool
}
