import AccessManagement
import HTTPMessages
package import OAuthClient
import PosternCrypto
import PosternJSON
package import PosternSupport
import TokenValidation

extension UserSessions {
  /// Makes a session from a single sign-on token: an authorization code without a browser, with PKCE, `state` and
  /// `nonce`. With `held` it goes on where the access manager held it up.
  package func makeFromSSO(
    _ token: Secret<String>, at issuer: SessionIssuer, scope: String?, owner: UInt32,
    releasing held: HeldAuthorization? = nil, trace: TraceContext?
  ) async throws(SessionError) -> Session {
    guard AccessManager.isToken(token.reveal()) else {
      throw .invalid("a single sign-on token that cannot stand in a cookie", path: "/ssoToken")
    }
    let key = if let held { held.key } else { try newKey(for: issuer) }
    let provingKey = try DPoPKey.recorded(key)
    let signOn: SingleSignOn
    do throws(RenewalFault) {
      signOn = try await self.signOn(
        token, scope: scope ?? issuer.scope ?? "openid", audience: nil, key: provingKey,
        at: issuer, releasing: held, trace)
    } catch {
      guard case .adviceRequired(var held) = error.error.kind else { throw error.error }
      held.key = key
      throw SessionError(held)
    }
    return try await make(
      from: signOn.grant, at: issuer, scope: signOn.pending.scope, kind: .user, owner: owner, key: key,
      resource: nil,
      expecting: AuthorizationExpectations(
        nonce: signOn.pending.nonce, maxAge: nil, acrValues: [], requiresIDToken: signOn.pending.isOpenID),
      ssoToken: token, trace: trace)
  }

  /// Which of the session's tokens a single sign-on is for.
  ///
  /// The whole session is authorized anew, so that a refresh token that comes is good for all of it; a token for one
  /// resource is asked for by itself only where no refresh token comes.
  func signOnSlot(of live: LiveSession, wanted slot: TokenSlot) -> TokenSlot {
    let isGood = live.tokens[.session]?.isFresh(at: clock.monotonicNow) ?? false
    return live.contents.refreshToken == nil && isGood ? slot : .session
  }

  /// Another token for a session whose refresh token is gone, by its single sign-on token. With `held` it goes on where
  /// the access manager held it up.
  func authorizeAgain(
    _ live: LiveSession, _ slot: TokenSlot, _ issuer: SessionIssuer, releasing held: HeldAuthorization? = nil,
    _ trace: TraceContext?
  ) async throws(RenewalFault) -> Renewal {
    guard let token = live.contents.ssoToken else {
      throw RenewalFault(SessionError(.expired, "the user has to log in again"))
    }
    // Whose login it is must be told each time.
    let isKnown = live.contents.subject != nil
    let scope = slot.scope.map { isKnown ? "openid \($0)" : $0 } ?? live.contents.scope ?? issuer.scope ?? "openid"
    let signOn: SingleSignOn
    do throws(RenewalFault) {
      signOn = try await self.signOn(
        Secret(token), scope: scope, audience: slot.audience, key: live.key, at: issuer, releasing: held, trace)
    } catch {
      if case .adviceRequired(var held) = error.error.kind {
        held.slot = slot
        throw RenewalFault(SessionError(held))
      }
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

  /// A code. The access manager may hold the request up for advice, once: `held` is one of which that has been
  /// satisfied.
  private func signOn(
    _ token: Secret<String>, scope: String, audience: String?, key: DPoPKey?, at issuer: SessionIssuer,
    releasing held: HeldAuthorization?, _ trace: TraceContext?
  ) async throws(RenewalFault) -> SingleSignOn {
    guard let manager = issuer.accessManager else {
      throw RenewalFault(.grantNotSupported("the issuer is configured without an access manager"))
    }
    let request: SignOnRequest
    if let held {
      request = held.request
    } else {
      request = try signOnRequest(manager, scope: scope, audience: audience, key: key, issuer.issuer)
    }
    let url: HTTPURL
    let response: HTTPResponse
    do throws(TokenError) {
      url = if let held { held.location } else { try await authorizationURL(manager, issuer.issuer, trace) }
      // Consent, which the vendor protects by the token itself: nobody else can know it.
      let consent = [(name: "decision", value: "allow"), (name: "csrf", value: token.reveal())]
      response = try await accessManagers.send(
        request.form(missingIn: url) + consent, to: url, token: token, version: "resource=2.1, protocol=1.0",
        of: manager, for: issuer.issuer, trace: trace)
    } catch {
      throw RenewalFault(SessionError(error))
    }
    let answer: AuthorizeAnswer
    do throws(RenewalFault) {
      answer = try AuthorizeAnswer(response, from: url.withoutQuery, to: request, of: manager)
    } catch {
      if let code = error.error.upstreamCode, AuthorizeAnswer.strayCodes.contains(code) {
        observer?.observe(
          .troubled("an authorization at issuer \(issuer.issuer.name) is not followed", detail: error.error.detail))
      }
      throw error
    }
    return try accept(answer, token, request, isSecond: held != nil, issuer.issuer)
  }

  private func signOnRequest(
    _ manager: AccessManager, scope: String, audience: String?, key: DPoPKey?, _ issuer: Issuer
  ) throws(RenewalFault) -> SignOnRequest {
    guard let redirectURI = manager.redirectURI else {
      throw RenewalFault(.grantNotSupported("the issuer is configured without redirectUri"))
    }
    let state = SessionHandle.random().text
    let proof = ProofKey.random()
    let pending = PendingAuthorization(
      issuer: issuer.name, issuerIdentifier: issuer.identifier, clientID: issuer.clientID, redirectURI: redirectURI,
      verifier: proof.verifier, nonce: Base64URL.string(SecureRandom.bytes(16)), scope: scope, maxAge: nil,
      acrValues: [])
    var form = Self.form(
      AuthorizationRequest(redirectURI: redirectURI), pending, state: state, challenge: proof.challenge)
    if let audience { form += ClientCredentialsGrant.audienceMembers(audience) }
    if let key { form.append((name: "dpop_jkt", value: key.thumbprint)) }
    return SignOnRequest(pending: pending, state: state, form: form)
  }

  /// The code in the answer, when everything around it is right.
  private func accept(
    _ answer: AuthorizeAnswer, _ token: Secret<String>, _ request: SignOnRequest, isSecond: Bool, _ issuer: Issuer
  ) throws(RenewalFault) -> SingleSignOn {
    func failed(_ detail: String, _ code: String) -> RenewalFault {
      RenewalFault(SessionError(.authorizationFailed, detail, upstreamCode: code))
    }
    let callback: AuthorizationCallback
    switch answer {
    case .callback(let given): callback = given
    case .advice(let advices, let location):
      guard !isSecond else {
        throw failed("the access manager asks for more after what it asked for", "interaction_required")
      }
      let secret = token.reveal()
      guard !advices.contains(where: { EchoedToken.isIn($0.value, secret) || EchoedToken.isIn($0.type, secret) }) else {
        throw failed("the access manager's advice repeats the single sign-on token", "invalid_redirect")
      }
      throw RenewalFault(
        SessionError(HeldAuthorization(advices: advices, request: request, location: location, token: token)))
    }
    // Before anything else, errors included, is believed.
    guard callback["state"]?.hasSameBytes(as: request.state) ?? false else {
      throw failed("the access manager answers another request", "state_mismatch")
    }
    do throws(SessionError) {
      return SingleSignOn(
        code: Secret(try Self.check(callback, request.pending, issuer)), pending: request.pending)
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
