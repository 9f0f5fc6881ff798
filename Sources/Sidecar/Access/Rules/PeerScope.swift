import PosternSupport

/// The part of the configuration that a rule of `peers` lets its callers see and use.
///
/// nil means everything of its kind; what is not in a list does not exist for these callers.
package struct PeerScope: Sendable, Hashable {
  /// The names of resources.
  package var resources: Set<String>?
  /// The names of issuers.
  package var issuers: Set<String>?
  /// The names of decision points.
  package var preauthorization: Set<String>?

  package init(resources: Set<String>? = nil, issuers: Set<String>? = nil, preauthorization: Set<String>? = nil) {
    self.resources = resources
    self.issuers = issuers
    self.preauthorization = preauthorization
  }

  /// A scope that hides nothing.
  package static let everything = PeerScope()

  /// Whether it hides nothing.
  var isEverything: Bool { self == .everything }

  /// Whether the resource is in it.
  package func contains(resource: String) -> Bool { resources?.contains(resource) ?? true }

  /// Whether the issuer is in it.
  package func contains(issuer: String) -> Bool { issuers?.contains(issuer) ?? true }

  /// Whether the decision point is in it.
  package func contains(decisionPoint: String) -> Bool { preauthorization?.contains(decisionPoint) ?? true }

  /// Whether the client certificate of `section` (`issuers.NAME` or `resources.NAME`) is of something in it.
  package func contains(certificateOf section: String) -> Bool {
    if section.startsWithBytes(of: "issuers.") { return contains(issuer: String(section.dropFirst("issuers.".count))) }
    if section.startsWithBytes(of: "resources.") {
      return contains(resource: String(section.dropFirst("resources.".count)))
    }
    return isEverything
  }
}
