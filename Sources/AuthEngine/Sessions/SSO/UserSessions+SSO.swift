import Crypto
import HTTPMessages
import JSON
import Support

extension UserSessions {
  /// Makes a session from a single sign-on token: an authorization code without a browser, with PKCE, `state` and `nonce`.
  func makeFromSSO(
    _ token: Secret<String>, at issuer: SessionIssuer, scope: String?, owner: UInt32, trace: TraceContext?
  ) async throws(SessionError) -> Session {
    guard AccessManager.isToken(token.reveal()) else {
      throw .invalid("a single sign-on token that cannot stand in a cookie", path: "/ssoToken")
    }
    let key = try newKey(for: issuer)
    let signOn: SingleSignOn
    do throws(RenewalFault) {
      signOn = try await self.signOn(
        token, scope: scope ?? issuer.scope ?? "openid", audience: nil, key: key.flatMap { DPoPKey(record: $0) },
        at: issuer, trace)
    } catch {
      throw error.error
    }
    return try await make(
      from: signOn.grant, at: issuer, scope: signOn.pending.scope, kind: .user, owner: owner, key: key,
      resource: nil,
      expecting: AuthorizationExpectations(
        nonce: signOn.pending.nonce, maxAge: nil, acrValues: [], requiresIDToken: signOn.pending.isOpenID),
      ssoToken: token, trace: trace)
  }

  /// Another token for a session whose refresh token is gone, by its single sign-on token.
  ///
  /// The whole session is authorized anew, so that a refresh token that comes is good for all of it; a token for one resource is
  /// asked for by itself only where no refresh token comes.
  func authorizeAgain(
    _ live: LiveSession, _ slot: TokenSlot, _ issuer: SessionIssuer, _ trace: TraceContext?
  ) async throws(RenewalFault) -> Renewal {
    guard let token = live.contents.ssoToken else {
      throw RenewalFault(SessionError(.expired, "the user has to log in again"))
    }
    let isGood = live.tokens[.session]?.isFresh(at: clock.monotonicNow) ?? false
    let slot = live.contents.refreshToken == nil && isGood ? slot : .session
    // Whose login it is must be told each time.
    let isKnown = live.contents.subject != nil
    let scope = slot.scope.map { isKnown ? "openid \($0)" : $0 } ?? live.contents.scope ?? issuer.scope ?? "openid"
    let signOn: SingleSignOn
    do throws(RenewalFault) {
      signOn = try await self.signOn(
        Secret(token), scope: scope, audience: slot.audience, key: live.key, at: issuer, trace)
    } catch {
      guard error.isFinal else { throw error }
      throw RenewalFault(
        SessionError(.expired, error.error.detail, upstreamCode: error.error.upstreamCode), isFinal: true)
    }
    let form = (signOn.grant.form(scope: nil) ?? []) + TokenSlot(scope: nil, audience: slot.audience).form
    do throws(TokenError) {
      let answer = try await requests.token(form, at: issuer.issuer, key: live.key, trace: trace)
      guard answer.response.idToken != nil || !isKnown else {
        throw TokenError(.malformed, "the token endpoint gave no ID token for a login", status: 200)
      }
      return Renewal(
        answer: answer, slot: slot,
        expectations: IDTokenExpectations(
          clientID: issuer.issuer.clientID, nonce: signOn.pending.nonce, authorizationCode: signOn.code,
          accessToken: Secret(answer.response.accessToken)))
    } catch {
      // What is wrong with a code says nothing about the single sign-on token.
      throw RenewalFault(SessionError(error))
    }
  }

  private func signOn(
    _ token: Secret<String>, scope: String, audience: String?, key: DPoPKey?, at issuer: SessionIssuer,
    _ trace: TraceContext?
  ) async throws(RenewalFault) -> SingleSignOn {
    guard let manager = issuer.accessManager else {
      throw RenewalFault(.grantNotSupported("the issuer is configured without an access manager"))
    }
    guard let redirectURI = manager.redirectURI else {
      throw RenewalFault(.grantNotSupported("the issuer is configured without redirectUri"))
    }
    let state = SessionHandle.random().text
    let proof = ProofKey.random()
    let pending = PendingAuthorization(
      issuer: issuer.issuer.name, issuerIdentifier: issuer.issuer.identifier, clientID: issuer.issuer.clientID,
      redirectURI: redirectURI, verifier: proof.verifier, nonce: Base64URL.string(SecureRandom.bytes(16)),
      scope: scope, maxAge: nil, acrValues: [])
    var form = Self.form(
      AuthorizationRequest(redirectURI: redirectURI), pending, state: state, challenge: proof.challenge)
    if let audience { form += ClientCredentialsGrant.audienceMembers(audience) }
    if let key { form.append((name: "dpop_jkt", value: key.thumbprint)) }
    // Consent, which the vendor protects by the token itself: nobody else can know it.
    form += [(name: "decision", value: "allow"), (name: "csrf", value: token.reveal())]
    let url: HTTPURL
    let response: HTTPResponse
    do throws(TokenError) {
      url = try await authorizationURL(manager, issuer.issuer, trace)
      response = try await accessManagers.send(
        form, to: url, token: token, version: "resource=2.1, protocol=1.0", of: manager, for: issuer.issuer,
        trace: trace)
    } catch {
      throw RenewalFault(SessionError(error))
    }
    let callback = try AuthorizeAnswer.callback(response, from: url, to: redirectURI)
    // Before anything else, errors included, is believed.
    guard callback["state"] == state else {
      throw RenewalFault(
        SessionError(
          .authorizationFailed, "the access manager answers another request", upstreamCode: "state_mismatch"))
    }
    do throws(SessionError) {
      return SingleSignOn(code: Secret(try Self.check(callback, pending, issuer.issuer)), pending: pending)
    } catch {
      throw RenewalFault(error, isFinal: AuthorizeAnswer.endsSession(callback["error"]))
    }
  }

  /// The issuer's authorization endpoint where it is the access manager's, else the access manager's own.
  private func authorizationURL(
    _ manager: AccessManager, _ issuer: Issuer, _ trace: TraceContext?
  ) async throws(TokenError) -> HTTPURL {
    do throws(TokenError) {
      let url = try await requests.provider.url(of: .authorization, at: issuer, trace: trace)
      if url.lies(under: manager.baseURL) { return url }
    } catch {
      guard case .notPossible = error.kind else { throw error }
    }
    return try manager.url("/oauth2\(manager.realmPath)/authorize")
  }
}
