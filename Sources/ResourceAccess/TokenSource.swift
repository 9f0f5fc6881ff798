import OAuthClient
import PosternSupport
import Sessions

/// Where one fetch gets its access token and the replacement of a rejected one.
enum TokenSource: Sendable {
  /// The tokens of a session of that kind, at that issuer.
  case session(SessionTokens, SessionKind, Issuer)
  /// The client's tokens (client credentials).
  case client(ClientCredentialsTokens, ClientCredentialsGrant)

  /// The tokens of the session that `session` means.
  static func tokens(of session: FetchSession, _ kind: SessionKind) async throws(ResourceError) -> TokenSource {
    do throws(SessionError) {
      return .session(try await session.tokens(kind), kind, session.issuer.issuer)
    } catch {
      throw ResourceError(error, kind: kind, issuer: session.issuer.issuer.name)
    }
  }

  /// The tokens of the session, where these are one's.
  var sessionTokens: SessionTokens? { if case .session(let tokens, _, _) = self { tokens } else { nil } }

  /// A token for `server`, or one newer than `rejected`.
  func token(
    for server: ResourceServer, replacing rejected: AccessToken?, deadline: Deadline, trace: TraceContext?
  ) async throws(ResourceError) -> AccessToken {
    switch self {
    case .session(let tokens, let kind, let issuer):
      do throws(SessionError) {
        let token = try await tokens.token(
          scope: server.tokens.scope, audience: server.tokens.audience, replacing: rejected, deadline: deadline,
          trace: trace)
        // It was issued before there was a key to bind it to, or elsewhere: the next one is requested with a proof.
        guard server.tokens.senderConstraint == .dpop, case .none = token.binding, issuer.usesDPoP else { return token }
        return try await tokens.token(
          scope: server.tokens.scope, audience: server.tokens.audience, replacing: token, deadline: deadline,
          trace: trace)
      } catch {
        throw ResourceError(error, kind: kind, issuer: issuer.name)
      }
    case .client(let tokens, let grant):
      do throws(TokenError) {
        guard let rejected else { return try await tokens.token(for: grant, deadline: deadline, trace: trace) }
        return try await tokens.token(for: grant, replacing: rejected, deadline: deadline, trace: trace)
      } catch {
        throw ResourceError(error, issuer: grant.issuer.name)
      }
    }
  }
}
