import AuthEngine
import Foundation
import HTTPMessages

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The rules for requests of the process's URL sessions that go through the engine.
struct LoadingRules: Sendable {
  var resources: [ProtectedResource] = []
  var tokenManagementPolicy: TokenManagementPolicy?
  var authorizationPolicy: AuthorizationPolicy?

  /// Returns the resource that `request` is for; nil when it is loaded as usual, without a token.
  func resource(for request: URLRequest) -> ProtectedResource? {
    guard let url = Self.url(of: request), isPolicies(url) else { return nil }
    return resources.first { $0.covers(url) }
  }

  /// Returns the options for the request to `resource`.
  func options(for resource: ProtectedResource) -> FetchOptions {
    var options = resource.options
    options.tokenRules.tokenPolicy = tokenManagementPolicy ?? options.tokenRules.tokenPolicy
    if let authorizationPolicy {
      var advice = options.advice ?? FetchAdvice()
      advice.policy = authorizationPolicy
      options.advice = advice
    }
    return options
  }

  /// Whether `request` is one of the authorization policy's.
  func looksForAdvice(in request: URLRequest) -> Bool {
    Self.url(of: request).map { authorizationPolicy?.covers($0) == true } ?? false
  }

  /// With a policy its URLs only; with both policies, those of either.
  private func isPolicies(_ url: HTTPURL) -> Bool {
    let all = [tokenManagementPolicy.map { $0.covers(url) }, authorizationPolicy.map { $0.covers(url) }]
    return all.contains(true) || all == [nil, nil]
  }

  private static func url(of request: URLRequest) -> HTTPURL? {
    request.url.flatMap { try? HTTPURL($0.absoluteString) }
  }
}
