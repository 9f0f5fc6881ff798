public import HTTPMessages

/// An application's decision whether a response means that the access token must be refreshed.
public protocol TokenManagementPolicyDelegate: Sendable {
  /// Whether `response` to a request that carried a token means that the token must be refreshed and the request
  /// retried. Nil: the policy's own rule decides. Called for the first response to a request only.
  func evaluateTokenRefresh(_ response: HTTPResponse) async -> Bool?
}
