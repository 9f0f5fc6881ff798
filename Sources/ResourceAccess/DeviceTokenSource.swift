import OAuthClient
import PosternSupport

/// The sidecar's own tokens (client credentials).
struct DeviceTokenSource: TokenSource {
  let tokens: ClientCredentialsTokens
  let grant: ClientCredentialsGrant
  let absence = ResourceError.Code.deviceNotAuthenticated

  func token(
    replacing rejected: AccessToken?, deadline: Deadline, trace: TraceContext?
  ) async throws(ResourceError) -> AccessToken {
    do throws(TokenError) {
      guard let rejected else { return try await tokens.token(for: grant, deadline: deadline, trace: trace) }
      return try await tokens.token(for: grant, replacing: rejected, deadline: deadline, trace: trace)
    } catch {
      throw ResourceError(error, issuer: grant.issuer.name)
    }
  }
}
