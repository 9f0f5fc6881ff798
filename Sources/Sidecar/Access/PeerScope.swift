import PosternSupport

/// What of the configuration a rule of `peers` lets its callers see and use.
///
/// nil means everything of its kind; what is not in a list does not exist for these callers.
struct PeerScope: Sendable, Hashable {
  /// The names of resources.
  var resources: Set<String>?
  /// The names of issuers.
  var issuers: Set<String>?
  /// The names of decision points.
  var preauthorization: Set<String>?

  /// A scope that hides nothing.
  static let everything = PeerScope()

  /// Whether it hides nothing.
  var isEverything: Bool { self == .everything }

  /// Whether the resource is in it.
  func contains(resource: String) -> Bool { resources?.contains(resource) ?? true }

  /// Whether the issuer is in it.
  func contains(issuer: String) -> Bool { issuers?.contains(issuer) ?? true }

  /// Whether the decision point is in it.
  func contains(decisionPoint: String) -> Bool { preauthorization?.contains(decisionPoint) ?? true }

  /// Whether the client certificate of `owner` (`issuers.NAME` or `resources.NAME`) is of something in it.
  func contains(certificateOf owner: String) -> Bool {
    if owner.startsWithBytes(of: "issuers.") { return contains(issuer: String(owner.dropFirst("issuers.".count))) }
    if owner.startsWithBytes(of: "resources.") {
      return contains(resource: String(owner.dropFirst("resources.".count)))
    }
    return isEverything
  }
}
