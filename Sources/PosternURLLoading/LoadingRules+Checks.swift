import AuthEngine
import HTTPMessages

extension LoadingRules {
  /// Returns the reason why the authorization policy has no effect for requests to `resource`; nil when it has one.
  func obstacle(for resource: ProtectedResource) -> ResourceError? {
    guard authorizationPolicy != nil else { return nil }
    return resource.server.applying(resource.options).adviceObstacle.map { obstacle in
      Self.unusable("authorizationPolicy has no effect: \(obstacle)")
    }
  }

  /// Throws the first reason why resources or policies would have no effect.
  func check() throws(ResourceError) {
    guard !resources.isEmpty else {
      throw Self.unusable("PosternURLProtocol.resources is empty: no request would go through the engine")
    }
    let servers = resources.map(\.server)
    if let url = tokenManagementPolicy?.idleURLs(among: servers).first {
      throw Self.unusable("tokenManagementPolicy has no effect at \(url): no resource has secure URLs there")
    }
    guard let authorizationPolicy else { return }
    if let url = authorizationPolicy.idleURLs(among: servers).first {
      throw Self.unusable("authorizationPolicy has no effect at \(url): no resource has secure URLs there")
    }
    guard authorizationPolicy.hasDelegate else { throw Self.unusable(Self.noDelegate) }
    let unaffected = authorizationPolicy.idleURLs(among:)
    for resource in resources where unaffected([resource.server]).count < unaffected([]).count {
      if let obstacle = obstacle(for: resource) { throw obstacle }
      let options = options(for: resource)
      guard
        resource.server.applying(options).authentication != .user || options.session != nil
          || options.tokenRules.tokenPolicy?.whenNoSession == .sendWithoutToken
      else {
        throw Self.unusable("resource \(resource.server.name) has no session whose user could satisfy advice")
      }
    }
  }

  static let noDelegate = "authorizationPolicy has no delegate: advice is found and never satisfied"

  static func unusable(_ detail: String) -> ResourceError {
    ResourceError(.invalidRequest, detail, retryable: false)
  }
}
