import AuthEngine
import Foundation
import HTTPMessages

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension LoadingRules {
  /// What keeps the authorization policy from taking effect for requests to `resource`; nil: nothing does.
  ///
  /// The policy alone puts no token into a request, and satisfies nobody's advice without one. So it is an error by
  /// itself: neither may a token be sent that no policy asked for, nor may advice be overlooked.
  func obstacle(for resource: ProtectedResource) -> ResourceError? {
    guard authorizationPolicy != nil else { return nil }
    guard tokenManagementPolicy != nil || resource.options.tokenPolicy != nil else {
      return Self.unusable(
        "authorizationPolicy is set and tokenManagementPolicy is not: an authorization policy puts no token into "
          + "requests, so say with a TokenManagementPolicy which of them carry one")
    }
    return resource.server.adviceObstacle(resource.options).map { obstacle in
      Self.unusable("authorizationPolicy has no effect: \(obstacle)")
    }
  }

  /// Throws the first thing that would make resources or policies have no effect.
  func check() throws(ResourceError) {
    guard !resources.isEmpty else {
      throw Self.unusable("PosternURLProtocol.resources is empty: no request would go through the engine")
    }
    let servers = resources.map(\.server)
    if let place = tokenManagementPolicy?.idlePlaces(among: servers).first {
      throw Self.unusable("tokenManagementPolicy has no effect at \(place): no resource has secure URLs there")
    }
    guard let authorizationPolicy else { return }
    if let place = authorizationPolicy.idlePlaces(among: servers).first {
      throw Self.unusable("authorizationPolicy has no effect at \(place): no resource has secure URLs there")
    }
    guard authorizationPolicy.hasDelegate else { throw Self.unusable(Self.noDelegate) }
    let unaffected = authorizationPolicy.idlePlaces(among:)
    for resource in resources where unaffected([resource.server]).count < unaffected([]).count {
      if let obstacle = obstacle(for: resource) { throw obstacle }
      guard resource.options.session != nil else {
        throw Self.unusable("resource \(resource.server.name) has no session whose user could satisfy advice")
      }
    }
  }

  static let noDelegate = "authorizationPolicy has no delegate: advice is found and nobody satisfies it"

  private static func unusable(_ detail: String) -> ResourceError {
    ResourceError(.invalidRequest, detail, retryable: false)
  }
}
