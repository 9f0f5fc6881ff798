public import HTTPMessages
public import OAuthClient
public import PosternSupport
public import Sessions

/// The moment of a fetch about which a policy's delegate decides: a request and its response.
public struct PolicyEvent: Sendable {
  /// The request as it was sent, redirects followed and bodies not encrypted, without what authenticates it: the token,
  /// its proof, and the cookies that are kept for the session.
  public let request: HTTPRequest
  /// The response; nil where there is none: the issuer requires something of the user before it issues a token, or a
  /// fetch is resumed.
  public let response: HTTPResponse?
  /// The task of the fetch, with which a delegate can watch or cancel it; nil where a program sends by itself
  /// (`TokenManagementPolicy.send`).
  public let task: NetworkTask?
  /// The user's session whose token the request carried; nil where no user is logged in.
  public let session: SessionHandle?

  /// The URL of the request.
  public var url: HTTPURL { request.url }

  /// An event of the given parts. Credentials of `request` are left out.
  public init(
    request: HTTPRequest, response: HTTPResponse?, task: NetworkTask? = nil, session: SessionHandle? = nil
  ) {
    var request = request
    if request.fields["Authorization"] != nil { request.fields["Authorization"] = nil }
    if request.fields["DPoP"] != nil { request.fields["DPoP"] = nil }
    self.request = request
    self.response = response
    self.task = task
    self.session = session
  }
}

extension PolicyEvent: ConciseStringConvertible {
  /// Method, URL without its query, and status: never fields or bodies.
  public var description: String {
    "\(request.method) \(url.withoutQuery), \(response.map { "status \($0.status)" } ?? "no response")"
  }
}

/// An application's part in policy advice: has it satisfied, finds it in responses, and updates the request.
///
/// Each method has two forms, of which a delegate implements one: the form with the event has the request, its URL, the
/// task and the response as well. `onPolicyAdviceReceived` is the one that a delegate needs: without it no advice is
/// satisfied, fetches end in `advice_required`, and `LibraryWarnings` names the type. The mobile SDKs spell it
/// `onPolicyAdviseReceived`: a delegate may, too.
public protocol AuthorizationPolicyDelegate: Sendable {
  /// Has the user of the event's session satisfy `advices`, of a fetch that can also be resumed by `continuation`
  /// later. Without a session the user has not logged in yet. Whether that was done; nil: there is no answer, and the
  /// fetch ends with the advice.
  func onPolicyAdviceReceived(
    _ advices: [PolicyAdvice], event: PolicyEvent, continuation: String?
  ) async -> Bool?

  /// The same by the session alone. Called where the other form is not implemented.
  func onPolicyAdviceReceived(
    _ advices: [PolicyAdvice], session: SessionHandle?, continuation: String?
  ) async -> Bool?

  /// `onPolicyAdviceReceived` as the mobile SDKs spell it.
  func onPolicyAdviseReceived(
    _ advices: [PolicyAdvice], event: PolicyEvent, continuation: String?
  ) async -> Bool?

  /// `onPolicyAdviceReceived` as the mobile SDKs spell it.
  func onPolicyAdviseReceived(
    _ advices: [PolicyAdvice], session: SessionHandle?, continuation: String?
  ) async -> Bool?

  /// The advices in the event's response, which may be none; nil: as the policy finds them itself.
  func evaluateAuthorizationPolicy(_ event: PolicyEvent) async -> [PolicyAdvice]?

  /// The same by the response alone. Called where the other form is not implemented.
  func evaluateAuthorizationPolicy(_ response: HTTPResponse) async -> [PolicyAdvice]?

  /// The changes of the event's request before it is retried, after `txId` where a transaction was confirmed; nil:
  /// the transaction goes into the query as `_txid`.
  func updateRequest(_ event: PolicyEvent, txId: String?) async -> RequestUpdate?

  /// The same by the request alone. Called where the other form is not implemented.
  func updateRequest(_ request: HTTPRequest, txId: String?) async -> RequestUpdate?
}

extension AuthorizationPolicyDelegate {
  /// As the method in the SDKs' spelling does.
  public func onPolicyAdviceReceived(
    _ advices: [PolicyAdvice], event: PolicyEvent, continuation: String?
  ) async -> Bool? {
    await onPolicyAdviseReceived(advices, event: event, continuation: continuation)
  }

  /// As the form for a session does.
  public func onPolicyAdviseReceived(
    _ advices: [PolicyAdvice], event: PolicyEvent, continuation: String?
  ) async -> Bool? {
    await onPolicyAdviceReceived(advices, session: event.session, continuation: continuation)
  }

  /// As the method in the SDKs' spelling does.
  public func onPolicyAdviceReceived(
    _ advices: [PolicyAdvice], session: SessionHandle?, continuation: String?
  ) async -> Bool? {
    await onPolicyAdviseReceived(advices, session: session, continuation: continuation)
  }

  /// No answer: the delegate has no such method. A warning names its type.
  public func onPolicyAdviseReceived(
    _ advices: [PolicyAdvice], session: SessionHandle?, continuation: String?
  ) async -> Bool? {
    LibraryWarnings.report(
      "\(Self.self) has no method onPolicyAdviceReceived(_:event:continuation:) or onPolicyAdviceReceived(_:session:continuation:), so no advice is satisfied; a method with another name or other types is never called"
    )
    return nil
  }

  /// As the form for responses finds them.
  public func evaluateAuthorizationPolicy(_ event: PolicyEvent) async -> [PolicyAdvice]? {
    guard let response = event.response else { return nil }
    return await evaluateAuthorizationPolicy(response)
  }

  /// As the policy finds them.
  public func evaluateAuthorizationPolicy(_ response: HTTPResponse) async -> [PolicyAdvice]? { nil }

  /// As the form for requests changes it.
  public func updateRequest(_ event: PolicyEvent, txId: String?) async -> RequestUpdate? {
    await updateRequest(event.request, txId: txId)
  }

  /// The transaction goes into the query.
  public func updateRequest(_ request: HTTPRequest, txId: String?) async -> RequestUpdate? { nil }
}

/// A delegate's changes of a request.
public struct RequestUpdate: Sendable, Hashable {
  /// Another URL; nil: the same.
  public var url: String?
  /// Fields that replace those of the same names.
  public var headers: HTTPFields

  /// Changes; none by default.
  public init(url: String? = nil, headers: HTTPFields = HTTPFields()) {
    self.url = url
    self.headers = headers
  }
}

extension RequestUpdate: ConciseStringConvertible {
  /// Names of fields: values and the URL may have secrets.
  public var description: String {
    Concise.text("update of a request", url.map { _ in "another URL" }, "\(headers)")
  }
}
