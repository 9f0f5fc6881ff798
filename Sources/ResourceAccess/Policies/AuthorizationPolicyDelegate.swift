public import AccessManagement
public import HTTPMessages
public import PosternSupport
public import Sessions

/// An application's part in policy advice: has it satisfied, finds it in responses, and updates the request.
public protocol AuthorizationPolicyDelegate: Sendable {
  /// Has the user of `session` satisfy `advices`, of a fetch that can also be resumed by `continuation` later. Whether
  /// that was done; nil: there is no answer, and the fetch ends with the advice.
  func onPolicyAdviseReceived(
    _ advices: [PolicyAdvice], session: SessionHandle?, continuation: String?
  ) async -> Bool?

  /// The advices in `response`, which may be none; nil: as the policy finds them itself.
  func evaluateAuthorizationPolicy(_ response: HTTPResponse) async -> [PolicyAdvice]?

  /// The changes of `request` before it is retried, after `txId` where a transaction was confirmed; nil:
  /// the transaction goes into the query as `_txid`.
  func updateRequest(_ request: HTTPRequest, txId: String?) async -> RequestUpdate?
}

extension AuthorizationPolicyDelegate {
  /// As the policy finds them.
  public func evaluateAuthorizationPolicy(_ response: HTTPResponse) async -> [PolicyAdvice]? { nil }

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
