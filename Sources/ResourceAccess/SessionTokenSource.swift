import OAuthClient
import PosternSupport
import Sessions

/// A session's tokens for one resource.
struct SessionTokenSource: TokenSource {
  let session: FetchSession
  let kind: SessionKind
  let scope: String?
  let audience: String?
  /// Whether the resource takes none but tokens that are bound to a key.
  let needsDPoP: Bool

  var absence: ResourceError.Code { kind == .user ? .notAuthenticated : .notImplicitlyAuthenticated }

  func token(
    replacing rejected: AccessToken?, deadline: Deadline, trace: TraceContext?
  ) async throws(ResourceError) -> AccessToken {
    do throws(SessionError) {
      let sessions = session.sessions
      let handle = try await session.handle(of: kind)
      guard try await sessions.session(handle, ownedBy: session.owner).kind == kind else {
        throw SessionError(.expired, "the session is of another kind")
      }
      func current(replacing rejected: AccessToken?) async throws(SessionError) -> AccessToken {
        try await sessions.token(
          of: handle, ownedBy: session.owner, at: session.issuer, scope: scope, audience: audience,
          replacing: rejected, deadline: deadline, trace: trace)
      }
      let token = try await current(replacing: rejected)
      // Got before there was a key to bind it to, or elsewhere: the next one is asked for with a proof.
      guard needsDPoP, case .none = token.binding, session.issuer.issuer.usesDPoP else { return token }
      return try await current(replacing: token)
    } catch {
      throw ResourceError(error, kind: kind, issuer: session.issuer.issuer.name)
    }
  }
}
