public import HTTPMessages
public import OAuthClient
public import PosternSupport

/// Puts access tokens into requests, and decides by responses whether the token must be refreshed.
///
/// Only for the URLs it covers: requests to others are sent as they are. A rejected request is retried once, with a
/// newer token; when there is none, or it is rejected again, the rejection is the result.
public struct TokenManagementPolicy: Sendable {
  /// The rule for requests of a user who has no session.
  public enum MissingSession: String, Sendable, Hashable, CaseIterable {
    /// It fails as `not_authenticated`, and nothing is sent.
    case fail
    /// The default: it is sent without a token, as the mobile SDKs do. Only where no session exists, or the fetch has no
    /// `FetchOptions.session`: a session that has expired or was named and is gone, several of which none is named,
    /// and a refresh that fails are errors all the same. The store forgets an expired session after a day.
    case sendWithoutToken = "send_without_token"
  }

  private var coverage: URLCoverage
  /// Bounds `coverage`; nil: no bounds.
  private var bounds: URLCoverage?
  private let refreshOn: Set<Int>?
  /// Decides about responses; nil: the policy's own rule does.
  public private(set) var delegate: (any TokenManagementPolicyDelegate)?
  /// The rule for requests where no session exists.
  public let whenNoSession: MissingSession

  /// A policy for the URLs `validatingURL`, as the mobile SDKs compare them: an origin stands for all of its URLs, a URL
  /// that ends in `/` for those under it, and any other for itself, whatever the query.
  ///
  /// `refreshOn` lists the statuses at which a token is refreshed, whatever the challenge; nil: 401 with a bearer
  /// challenge. The delegate takes precedence over either. Plain `http` is covered on loopback addresses only, and only
  /// when allowed.
  public init(
    validatingURL: [HTTPURL], delegate: (any TokenManagementPolicyDelegate)? = nil, refreshOn: Set<Int>? = nil,
    allowsPlainHTTPOnLoopback: Bool = false, whenNoSession: MissingSession = .sendWithoutToken
  ) {
    coverage = URLCoverage(
      locations: validatingURL, plainHTTP: PlainHTTPRule(allowsLoopback: allowsPlainHTTPOnLoopback), isExact: true)
    self.refreshOn = refreshOn
    self.delegate = delegate
    self.whenNoSession = whenNoSession
  }

  /// The policy of a server's own rules.
  init(of coverage: URLCoverage, refreshOn: Set<Int>?) {
    self.coverage = coverage
    self.refreshOn = refreshOn
    delegate = nil
    whenNoSession = .fail
  }

  /// Whether requests to `url` carry the token: it is one of the policy's URLs (same scheme, host and port), is secure,
  /// and has no path that another server could read differently.
  public func covers(_ url: HTTPURL) -> Bool { coverage.covers(url) && bounds?.covers(url) ?? true }

  /// The URLs under which requests are covered.
  public var validatingURL: [HTTPURL] { coverage.locations }

  /// The servers among its URLs that are covered without TLS.
  public var plainHTTP: PlainHTTPRule {
    get { coverage.plainHTTP }
    set { coverage.plainHTTP = newValue }
  }

  /// The policy's URLs at which it has no effect, because they are not secure or none of `servers` has URLs there.
  package func idleURLs(among servers: [ResourceServer]) -> [HTTPURL] { coverage.idleURLs(among: servers) }

  /// Whether `url` is below one of the policy's URLs, though it may not be covered.
  package func names(_ url: HTTPURL) -> Bool { coverage.names(url) }

  /// Whether a delegate decides about responses.
  var hasDelegate: Bool { delegate != nil }

  /// The same, for no URLs but those of `server`.
  func within(_ server: ResourceServer) -> TokenManagementPolicy {
    var policy = self
    policy.bounds = server.coverage
    return policy
  }

  /// The same, which asks `delegate`.
  func asking(_ delegate: any TokenManagementPolicyDelegate) -> TokenManagementPolicy {
    var policy = self
    policy.delegate = delegate
    return policy
  }

  /// `request` with `token` in `Authorization`, as its type requires (RFC 6750 section 2.1, RFC 9449 section 7.1),
  /// where the policy covers its URL; else as it is. The proof that goes with a token bound to a key is not added here.
  public func authorizing(_ request: HTTPRequest, with token: AccessToken?) -> HTTPRequest {
    guard let token, covers(request.url) else { return request }
    var request = request
    request.fields["Authorization"] = "\(token.type.rawValue) \(token.value.reveal())"
    return request
  }

  /// Whether the event's response to a request with `token` means that the token must be refreshed: as the delegate
  /// decides, else by status, else at 401 with a challenge that a newer token can meet.
  public func requiresRefresh(_ event: PolicyEvent, of token: AccessToken) async -> Bool {
    if let decision = await delegate?.evaluateTokenRefresh(event) { return decision }
    return event.response.map { isRejection($0, of: token) } ?? false
  }

  /// Whether `response` to a request with `token` means that, where the request is not known: a delegate decides by its
  /// form for responses.
  public func requiresRefresh(_ response: HTTPResponse, of token: AccessToken) async -> Bool {
    if let decision = await delegate?.evaluateTokenRefresh(response) { return decision }
    return isRejection(response, of: token)
  }

  /// Whether it does by the policy's own rule.
  func isRejection(_ response: HTTPResponse, of token: AccessToken) -> Bool {
    if let refreshOn { return refreshOn.contains(response.status) }
    guard response.status == 401 else { return false }
    let challenges = AuthenticationChallenge.all(in: response.fields)
    // A server that takes tokens of both types challenges with both schemes: that of the token is the one that is about
    // it.
    let own = challenges.filter { $0.isScheme(token.type.rawValue) }
    return (own.isEmpty ? challenges : own).contains(where: \.callsForAnotherToken)
  }
}

extension TokenManagementPolicy: ConciseStringConvertible {
  /// The URLs, without their queries.
  public var description: String { "token management policy for \(coverage)" }
}

/// An application's decision whether a response means that the access token must be refreshed.
///
/// It has one method in two forms, of which a delegate implements one: the form with the event has the request, its URL
/// and the task as well. With neither, the policy's own rule decides.
public protocol TokenManagementPolicyDelegate: Sendable {
  /// Whether the event's response to a request that carried a token means that the token must be refreshed and the
  /// request retried. Nil: the policy's own rule decides. Called for the first response to a request only.
  func evaluateTokenRefresh(_ event: PolicyEvent) async -> Bool?

  /// The same decision by the response alone. Called where the other form is not implemented.
  func evaluateTokenRefresh(_ response: HTTPResponse) async -> Bool?
}

extension TokenManagementPolicyDelegate {
  /// As the form for responses decides.
  public func evaluateTokenRefresh(_ event: PolicyEvent) async -> Bool? {
    guard let response = event.response else { return nil }
    return await evaluateTokenRefresh(response)
  }

  /// As the policy's own rule decides.
  public func evaluateTokenRefresh(_ response: HTTPResponse) async -> Bool? { nil }
}
