public import HTTPMessages

/// Decides in an application's place whether a response means that the access token must be renewed.
public protocol TokenManagementPolicyDelegate: Sendable {
  /// Whether `response`, the answer to a request that carried a token, means that the token must be renewed and the
  /// request repeated. Nil: as the policy's own rule says. Asked for the first answer of a request only.
  func evaluateTokenRefresh(_ response: HTTPResponse) async -> Bool?
}
