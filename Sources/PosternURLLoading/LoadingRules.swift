import AuthEngine
import Foundation
import HTTPMessages
import PosternSupport

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The rules for requests of the process's URL sessions that go through the engine.
struct LoadingRules: Sendable {
  /// The decision about a request.
  enum Course {
    /// It is loaded as usual: it is none of the resources' and none of the policies'.
    case usual
    /// The engine carries it out.
    case engine(ProtectedResource)
    /// It fails before anything is sent: it is a policy's, and would go out without what the policy requires.
    case rejected(ResourceError)
  }

  var resources: [ProtectedResource] = []
  var tokenManagementPolicy: TokenManagementPolicy?
  var authorizationPolicy: AuthorizationPolicy?

  /// Decides about `request`. With a policy the engine has its URLs only; with both policies, those of either.
  func course(of request: URLRequest) -> Course {
    guard let url = Self.url(of: request) else {
      return isLookalike(request.url) ? .rejected(Self.unusable("the URL is not one that is sent to its host")) : .usual
    }
    let resource = resources.first { $0.server.covers(url) }
    guard tokenManagementPolicy != nil || authorizationPolicy != nil else {
      let isNamed = resources.contains { $0.server.locations.contains { url.lies(under: $0) } }
      return resource.map { .engine($0) }
        ?? (isNamed
          ? .rejected(Self.unusable("\(url.withoutQuery) is a resource's, and servers could read its path differently"))
          : .usual)
    }
    let policies = [
      ("tokenManagementPolicy", tokenManagementPolicy?.names(url), tokenManagementPolicy?.covers(url)),
      ("authorizationPolicy", authorizationPolicy?.names(url), authorizationPolicy?.covers(url)),
    ].filter { $0.1 == true }
    guard let first = policies.first else { return .usual }
    if let (name, _, _) = policies.first(where: { $0.2 != true }) {
      return .rejected(
        Self.unusable(
          "\(name) has no effect at \(url.withoutQuery): the URL is plain http that the policy does not allow "
            + "(allowsPlainHTTPOnLoopback), or servers could read its path differently"))
    }
    guard let resource else {
      return .rejected(
        Self.unusable(
          "\(first.0) has no effect at \(url.withoutQuery): no member of PosternURLProtocol.resources has that URL"))
    }
    if authorizationPolicy?.covers(url) == true, let obstacle = obstacle(for: resource) { return .rejected(obstacle) }
    return .engine(resource)
  }

  /// Returns the options for the request to `resource`.
  func options(for resource: ProtectedResource) -> FetchOptions {
    var options = resource.options
    options.tokenPolicy = tokenManagementPolicy ?? options.tokenPolicy
    if let authorizationPolicy {
      var advice = options.advice ?? FetchAdvice()
      advice.policy = authorizationPolicy
      // A resource without a delegate of its own has none that answers; the policy's answers in its stead.
      advice.delegateID = advice.delegateID ?? 0
      options.advice = advice
    }
    return options
  }

  /// Whether `request` is one of the authorization policy's, and advice in its response is never satisfied.
  func leavesAdvice(of request: URLRequest) -> Bool {
    guard let authorizationPolicy, let url = Self.url(of: request) else { return false }
    return authorizationPolicy.covers(url) && !authorizationPolicy.hasDelegate
  }

  /// Whether the policy's token takes the place of an `Authorization` that `request` has: as in the mobile SDKs, and
  /// nowhere else.
  func replacesAuthorization(of request: URLRequest, to server: ResourceServer, _ options: FetchOptions) -> Bool {
    guard let policy = options.tokenPolicy, let url = Self.url(of: request), policy.covers(url) else { return false }
    return switch server.applying(options).authentication {
    case .user, .implicit, .clientCredentials, .onBehalfOf: true
    case .credential, .none: false
    }
  }

  /// Whether a delegate may judge the body of any response to `request`.
  func mayJudgeBody(of request: URLRequest, _ options: FetchOptions) -> Bool {
    guard let url = Self.url(of: request) else { return false }
    let policies = [
      options.tokenPolicy.map { $0.delegate != nil && $0.covers(url) },
      options.advice?.policy.map { $0.hasDelegate && $0.covers(url) },
    ]
    return options.tokenDelegate != nil || options.advice?.consultsDelegate == true || policies.contains(true)
  }

  /// Whether `url`, which the engine does not accept, leads to a resource's host for others: with a user's name in it,
  /// or a dot behind the host.
  private func isLookalike(_ url: URL?) -> Bool {
    guard let url, ["http", "https"].contains(url.scheme?.lowercasedASCII()),
      var host = url.host?.lowercasedASCII()
    else { return false }
    while host.utf8.last == UInt8(ascii: ".") { host.removeLast() }
    return resources.contains { $0.server.locations.contains { $0.origin.host == host } }
  }

  private static func url(of request: URLRequest) -> HTTPURL? { request.url.flatMap { try? HTTPURL($0) } }
}

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
          || options.tokenPolicy?.whenNoSession == .sendWithoutToken
      else {
        throw Self.unusable("resource \(resource.server.name) has no session whose user could satisfy advice")
      }
    }
  }

  static let noDelegate = "authorizationPolicy has no delegate: advice is found and never satisfied"

  static func unusable(_ detail: String) -> ResourceError {
    ResourceError(.invalidParams, detail, retryable: false)
  }
}
