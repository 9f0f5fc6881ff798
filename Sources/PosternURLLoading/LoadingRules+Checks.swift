import AuthEngine
import Foundation
import HTTPMessages

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension LoadingRules {
  /// Returns the reason why the authorization policy has no effect for requests to `resource`; nil when it has one.
  ///
  /// The policy alone adds no token to a request, and satisfies no advice without one. So it is an error by itself: no
  /// token may be sent without a token policy, and no advice may be overlooked.
  func obstacle(for resource: ProtectedResource) -> ResourceError? {
    guard authorizationPolicy != nil else { return nil }
    guard tokenManagementPolicy != nil || resource.options.tokenRules.tokenPolicy != nil else {
      return Self.unusable(
        "authorizationPolicy is set and tokenManagementPolicy is not: an authorization policy puts no token into "
          + "requests, so say with a TokenManagementPolicy which of them carry one")
    }
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
      guard resource.options.session != nil else {
        throw Self.unusable("resource \(resource.server.name) has no session whose user could satisfy advice")
      }
    }
  }

  static let noDelegate = "authorizationPolicy has no delegate: advice is found and never satisfied"

  private static func unusable(_ detail: String) -> ResourceError {
    ResourceError(.invalidRequest, detail, retryable: false)
  }
}
