public import HTTPMessages

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
