import HTTPMessages
import Support

/// Where one fetch gets its token and its replacement from.
struct DeviceTokenSource: Sendable {
  let tokens: ClientCredentialsTokens
  let grant: ClientCredentialsGrant

  /// A fresh token, or one newer than `rejected`.
  func token(
    replacing rejected: AccessToken? = nil, deadline: Deadline, trace: TraceContext?
  ) async throws(TokenError) -> AccessToken {
    guard let rejected else { return try await tokens.token(for: grant, deadline: deadline, trace: trace) }
    return try await tokens.token(for: grant, replacing: rejected, deadline: deadline, trace: trace)
  }
}
