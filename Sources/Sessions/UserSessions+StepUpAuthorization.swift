package import OAuthClient
import PosternJSON
import PosternSupport
import TokenValidation

extension UserSessions {
  /// Begins an authorization that is to renew a session's login (RFC 9470 section 5): in one of these contexts, not
  /// longer ago.
  package func beginStepUp(
    of handle: SessionHandle, ownedBy owner: UInt32, at issuer: SessionIssuer, acrValues: [String], maxAge: Int?,
    trace: TraceContext?
  ) async throws(SessionError) -> BegunAuthorization {
    guard let redirectURI = issuer.redirectURI else {
      throw .grantNotSupported("the issuer is configured without redirectUri")
    }
    var live = try await live(handle, ownedBy: owner)
    try check(live, issuer)
    live = try await withKey(live, issuer, nil)
    var request = AuthorizationRequest(redirectURI: redirectURI)
    let scope = live.contents.scope ?? issuer.scope ?? "openid"
    // Whose login it is must be told.
    request.scope = ScopeText.names("openid", in: scope) ? scope : "openid \(scope)"
    request.acrValues = acrValues
    request.maxAge = maxAge
    request.resource = live.contents.resource
    return try await begin(
      request, at: issuer, ownedBy: owner, dpopKey: live.contents.dpopKey, steppingUp: handle, trace: trace)
  }

  /// Ends it with the URL to which the issuer sent the user back: the session has the new tokens then. They must be the
  /// same user's.
  package func completeStepUp(
    of handle: SessionHandle, ownedBy owner: UInt32, at issuer: SessionIssuer, callback url: String,
    trace: TraceContext?
  ) async throws(SessionError) {
    var live = try await live(handle, ownedBy: owner)
    try check(live, issuer)
    live = try await withKey(live, issuer, nil)
    let redemption = try await redemption(of: url, owner, { _ in issuer }, steppingUp: handle)
    let pending = redemption.pending
    try await prepare(issuer, needsKeys: true, trace)
    try await redemption.claim.take()
    let grant = SessionGrant.authorizationCode(
      code: Secret(redemption.code), codeVerifier: Secret(pending.verifier), redirectURI: pending.redirectURI)
    let answer: TokenRequests.Answer
    do throws(TokenError) {
      answer = try await requests.token(
        (grant.form(scope: nil) ?? []) + TokenSlot.resource(pending.resource), at: issuer.issuer, key: live.key,
        trace: trace)
    } catch {
      if !error.isAnswer { await redemption.claim.giveBack() }
      throw SessionError(error)
    }
    let claims: JSONObject
    do throws(SessionError) {
      guard let idToken = answer.response.idToken else {
        throw SessionError(
          .authorizationFailed, "the token endpoint gave no ID token", upstreamCode: "missing_id_token")
      }
      var expectations = IDTokenExpectations(clientID: issuer.issuer.clientID, nonce: pending.nonce)
      expectations.maxAge = pending.maxAge.map { .seconds($0) }
      expectations.acrValues = pending.acrValues
      expectations.accessToken = Secret(answer.response.accessToken)
      expectations.authorizationCode = Secret(redemption.code)
      claims = try await self.claims(of: idToken, expectations, at: issuer)
      guard live.contents.subject.map({ claims["sub"]?.stringValue?.hasSameBytes(as: $0) == true }) ?? true else {
        throw SessionError(
          .authorizationFailed, "the login is another user's than the session", upstreamCode: Self.otherUser)
      }
    } catch {
      revokeOrphaned(answer, issuer, of: live.owner)
      throw error
    }
    try await replaceTokens(of: live, with: answer, claims, issuer)
  }
}
