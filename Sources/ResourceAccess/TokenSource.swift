import OAuthClient
import PosternSupport

/// Where one fetch gets its token and its replacement from.
protocol TokenSource: Sendable {
  /// What a fetch ends with when there is no token that may be sent.
  var absence: ResourceError.Code { get }

  /// A fresh token, or one newer than `rejected`.
  func token(
    replacing rejected: AccessToken?, deadline: Deadline, trace: TraceContext?
  ) async throws(ResourceError) -> AccessToken
}
