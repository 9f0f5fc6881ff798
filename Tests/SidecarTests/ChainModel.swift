import PosternProtocol

/// A chain of endpoints, evaluated as simply as possible: each level is looked at, with the lists as they were given.
struct ChainModel {
  /// The lists that a method gets around, from the documents.
  private static let around: [String: Set<String>] = [
    "getAccessToken": ["resources", "httpMethods", "paths"],
    "invalidateDecisions": ["sessions"], "validateLogoutToken": ["sessions"],
    "reloadConfig": ["resources", "httpMethods", "paths", "sessions"],
    "pass.authorize": ["resources", "httpMethods", "paths", "sessions"],
  ]
  private static let makingSessions: Set<String> = ["createSession", "beginAuthorization", "authenticate"]

  let ruleMethods: Set<String>?
  let ruleResources: Set<String>?
  let levels: [EndpointLimits]

  func allows(method: String) -> Bool {
    guard ruleMethods?.contains(method) ?? true else { return false }
    for level in levels {
      if let methods = level.methods, !methods.contains(method) { return false }
      var lists: Set<String> = []
      if level.resources != nil { lists.insert("resources") }
      if level.httpMethods != nil { lists.insert("httpMethods") }
      if level.paths != nil { lists.insert("paths") }
      if level.sessions != nil { lists.insert("sessions") }
      if level.methods == nil, !lists.isDisjoint(with: Self.around[method] ?? []) { return false }
      if level.sessions != nil, Self.makingSessions.contains(method) { return false }
    }
    return true
  }

  func allows(resource: String) -> Bool {
    guard ruleResources?.contains(resource) ?? true else { return false }
    return levels.allSatisfy { $0.resources?.contains(resource) ?? true }
  }

  func allows(httpMethod: String) -> Bool { levels.allSatisfy { $0.httpMethods?.contains(httpMethod) ?? true } }

  func allows(session: String) -> Bool { levels.allSatisfy { $0.sessions?.contains(session) ?? true } }

  /// `path` without encodings; nil: no list has it.
  func allows(path: String?) -> Bool {
    for level in levels {
      guard let paths = level.paths else { continue }
      guard let path else { return false }
      guard paths.contains(where: { $0 == path || $0.hasSuffix("/") && path.hasPrefix($0) }) else { return false }
    }
    return true
  }

  func allowsFetch(_ resource: String, _ httpMethod: String, _ path: String?) -> Bool {
    allows(method: "fetchResource") && allows(resource: resource) && allows(httpMethod: httpMethod)
      && allows(path: path)
  }
}
