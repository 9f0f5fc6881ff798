public import HTTPMessages
public import OAuthClient
public import PosternSupport
public import Sessions

/// Finds policy advice in responses, has it satisfied, and marks the request for the retry.
///
/// Only for the URLs it covers, whatever the status of the response. It puts no token into any request;
/// `TokenManagementPolicy` does that, for its own URLs.
///
/// It works with the resource server's `advice` rules; for a server without any, the delegate gets all advice that an
/// authentication can satisfy. Where the rules permit no advice, a fetch of a URL it covers ends with `invalid_params`
/// before anything is sent: advice would be overlooked in silence.
public struct AuthorizationPolicy: Sendable {
  /// The parameter that names a confirmed transaction to the gateway.
  static let transactionParameter = "_txid"

  private var coverage: URLCoverage
  /// Bounds `coverage`; nil: no bounds.
  private var bounds: URLCoverage?
  private var recognizer: AdviceRecognizer
  /// Has advice satisfied; nil: nobody does.
  public let delegate: (any AuthorizationPolicyDelegate)?

  /// A policy for the URLs `validatingURL`, as the mobile SDKs compare them: an origin stands for all of its URLs, a URL
  /// that ends in `/` for those under it, and any other for itself, whatever the query.
  ///
  /// Advice that names an access manager counts only when it is `accessManager`; nil: any. Plain `http` is covered on
  /// loopback addresses only, and only when allowed.
  public init(
    validatingURL: [HTTPURL], delegate: (any AuthorizationPolicyDelegate)? = nil, accessManager: HTTPURL? = nil,
    allowsPlainHTTPOnLoopback: Bool = false
  ) {
    coverage = URLCoverage(
      locations: validatingURL, plainHTTP: PlainHTTPRule(allowsLoopback: allowsPlainHTTPOnLoopback), isExact: true)
    recognizer = AdviceRecognizer(scope: .everyAnswer, accessManager: accessManager)
    self.delegate = delegate
  }

  /// The policy of a server's own rules, for all of its URLs.
  init(of server: ResourceServer, _ rules: AdviceRules, delegate: (any AuthorizationPolicyDelegate)?) {
    coverage = server.coverage
    recognizer = rules.recognizer
    self.delegate = delegate
  }

  /// Whether answers from `url` are looked into.
  public func covers(_ url: HTTPURL) -> Bool { coverage.covers(url) && bounds?.covers(url) ?? true }

  /// The URLs under which responses are looked into.
  public var validatingURL: [HTTPURL] { coverage.locations }

  /// The servers among its URLs that are covered without TLS.
  public var plainHTTP: PlainHTTPRule {
    get { coverage.plainHTTP }
    set { coverage.plainHTTP = newValue }
  }

  /// The policy's URLs at which it has no effect, because they are not secure or none of `servers` has URLs there.
  package func idleURLs(among servers: [ResourceServer]) -> [HTTPURL] { coverage.idleURLs(among: servers) }

  /// The same, for no URLs but those of `server`, and no other access manager's advice than its.
  func within(_ server: ResourceServer) -> AuthorizationPolicy {
    var policy = self
    policy.bounds = server.coverage
    policy.recognizer.accessManager = server.advice?.accessManager ?? recognizer.accessManager
    policy.recognizer.inSuccess = server.advice?.inSuccess ?? false
    return policy
  }

  /// The advices in the event's response: as the delegate decides, else as they are recognised.
  public func evaluateAuthorizationPolicy(_ event: PolicyEvent) async -> [PolicyAdvice] {
    guard let response = event.response, covers(event.url) else { return [] }
    if let decided = await delegate?.evaluateAuthorizationPolicy(event) { return decided }
    return recognizer.finding(in: response, from: event.url)?.advices ?? []
  }

  /// The advices in `response` from `url`, where the request is not known: a delegate decides by its form for
  /// responses.
  public func evaluateAuthorizationPolicy(_ response: HTTPResponse, from url: HTTPURL) async -> [PolicyAdvice] {
    guard covers(url) else { return [] }
    if let decided = await delegate?.evaluateAuthorizationPolicy(response) { return decided }
    return recognizer.finding(in: response, from: url)?.advices ?? []
  }

  /// Whether `response` holds advice of another access manager: it is not followed.
  func isForeign(_ response: HTTPResponse, from url: HTTPURL) -> Bool {
    var any = recognizer
    any.accessManager = nil
    // A body names no access manager.
    any.inSuccess = false
    return recognizer.accessManager != nil && any.finding(in: response, from: url) != nil
  }

  /// Whether `url` is below one of the policy's URLs, though it may not be covered.
  package func names(_ url: HTTPURL) -> Bool { coverage.names(url) }

  /// Whether there is a delegate to have advice satisfied.
  public var hasDelegate: Bool { delegate != nil }

  /// Has `advices` of the event satisfied; nil: there was no answer.
  public func satisfy(_ advices: [PolicyAdvice], event: PolicyEvent, continuation: String? = nil) async -> Bool? {
    await delegate?.onPolicyAdviceReceived(advices, event: event, continuation: continuation)
  }

  /// Has `advices` satisfied by the delegate's form for a session; nil: there was no answer.
  public func satisfy(
    _ advices: [PolicyAdvice], session: SessionHandle? = nil, continuation: String? = nil
  ) async -> Bool? {
    await delegate?.onPolicyAdviceReceived(advices, session: session, continuation: continuation)
  }

  /// The event's request as it is retried: as the delegate decides, else with `txId` in its query, which replaces one
  /// that is there. Fields and URL of a delegate that are not valid, or that lead out of the policy's URLs, throw.
  public func updating(_ event: PolicyEvent, for txId: String?) async throws(HTTPURLError) -> HTTPRequest {
    try apply(await delegate?.updateRequest(event, txId: txId), to: event.request, txId)
  }

  /// `request` as it is retried: the same, by the delegate's form for requests.
  public func updating(_ request: HTTPRequest, for txId: String?) async throws(HTTPURLError) -> HTTPRequest {
    try apply(await delegate?.updateRequest(request, txId: txId), to: request, txId)
  }

  private func apply(
    _ update: RequestUpdate?, to request: HTTPRequest, _ txId: String?
  ) throws(HTTPURLError) -> HTTPRequest {
    guard let update else {
      return try txId.map { id throws(HTTPURLError) in try Self.adding(id, to: request) } ?? request
    }
    var request = request
    if let text = update.url {
      let url = try request.url.resolving(reference: text)
      guard url.origin == request.url.origin, covers(url) else { throw HTTPURLError(.invalidHost) }
      request.url = url
    }
    for name in Set(update.headers.lines.map { $0.name.lowercasedASCII() }) {
      request.fields[name] = nil
      for value in update.headers.values(of: name) { request.fields.append(name, value) }
    }
    return request
  }

  /// `_txid` once, whatever was there.
  private static func adding(_ txId: String, to request: HTTPRequest) throws(HTTPURLError) -> HTTPRequest {
    let kept = (request.url.query ?? "").split(atByte: "&").filter { part in
      let name = FormEncoding.decode(String(part))?.first?.name ?? ""
      return !name.hasSameASCIILetters(as: transactionParameter)
    }
    let added = "\(transactionParameter)=\(PercentEncoding.encode(txId, for: .pathSegment))"
    var request = request
    request.url = try request.url.withoutQuery.addingQuery((kept.map(String.init) + [added]).joined(separator: "&"))
    return request
  }
}

extension AuthorizationPolicy: ConciseStringConvertible {
  /// The URLs, without their queries.
  public var description: String { "authorization policy for \(coverage)" }
}
