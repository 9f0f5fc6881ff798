import Support

/// A session's tokens for one resource.
struct SessionTokenSource: TokenSource {
  let session: FetchSession
  let kind: SessionKind
  let scope: String?
  let audience: String?

  func token(
    replacing rejected: AccessToken?, deadline: Deadline, trace: TraceContext?
  ) async throws(ResourceError) -> AccessToken {
    do throws(SessionError) {
      let sessions = session.sessions
      guard try await sessions.session(session.handle, ownedBy: session.owner).kind == kind else {
        throw SessionError(.expired, "the session is of another kind")
      }
      return try await sessions.token(
        of: session.handle, ownedBy: session.owner, at: session.issuer, scope: scope, audience: audience,
        replacing: rejected, deadline: deadline, trace: trace)
    } catch {
      throw ResourceError(error, kind: kind, issuer: session.issuer.issuer.name)
    }
  }
}
