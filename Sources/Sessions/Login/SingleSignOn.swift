import HTTPMessages
package import OAuthClient
import PosternCrypto
import PosternJSON
package import PosternSupport
import TokenValidation

/// A code that a single sign-on token got, with its request.
struct SignedOn: Sendable {
  let code: Secret<String>
  let pending: PendingAuthorization

  /// The grant that exchanges it.
  var grant: SessionGrant { pending.grant(of: code) }
}

/// Logs users in by single sign-on tokens of access managers, without a browser.
package struct SingleSignOn: SessionPart {
  let shared: SessionDependencies
  let creation: SessionCreation

  /// Creates a session from a single sign-on token: an authorization code without a browser, with PKCE, `state` and
  /// `nonce`. `releasing` is a suspended authorization to continue, after its advice has been satisfied.
  package func create(
    from token: Secret<String>, at issuer: SessionIssuer, scope: String?, _ origin: LoginOrigin,
    releasing suspended: SuspendedAuthorization? = nil, in call: CallScope
  ) async throws(SessionError) -> Session {
    guard AccessManager.isToken(token.reveal()) else {
      throw .invalid("a single sign-on token that cannot be sent in a cookie", path: ["ssoToken"])
    }
    let key = if let suspended { suspended.key } else { try issuer.newKey() }
    let provingKey = try DPoPKey.recorded(key)
    let signOn: SignedOn
    do throws(SessionError) {
      signOn = try await self.signOn(
        token, scope: scope ?? issuer.scope ?? "openid", audience: nil, key: provingKey,
        at: issuer, releasing: suspended, in: call)
    } catch {
      guard case .adviceRequired(var suspended) = error.kind else { throw error }
      suspended.key = key
      throw SessionError(suspended)
    }
    return try await creation.create(
      NewSession(
        grant: signOn.grant, issuer: issuer, scope: signOn.pending.scope, origin: origin, key: key,
        authorization: signOn.pending, ssoToken: token, call: call))
  }

  /// Which of the session's tokens a single sign-on is for.
  ///
  /// The whole session is authorized again, so that a new refresh token is valid for all of it; a token for one
  /// resource is requested by itself only where no refresh token is returned.
  func slot(of live: LiveSession, needed slot: TokenSlot) -> TokenSlot {
    let isGood = live.tokens[.session]?.isFresh(at: clock.monotonicNow) ?? false
    return live.contents.grant.refreshToken == nil && isGood ? slot : .session
  }

  /// Returns another token for a session whose refresh token is gone, by its single sign-on token. `releasing` is a
  /// suspended authorization to continue, after its advice has been satisfied.
  func authorizeAgain(
    _ live: LiveSession, _ slot: TokenSlot, _ issuer: SessionIssuer, releasing suspended: SuspendedAuthorization? = nil,
    in call: CallScope
  ) async throws(SessionError) -> RefreshedToken {
    guard let token = live.contents.signOn.token else {
      throw SessionError(.expired, "the user has to log in again")
    }
    // The ID token has to name the user each time.
    let isKnown = live.contents.user.subject != nil
    let scope =
      slot.scope.map { isKnown ? "openid \($0)" : $0 } ?? live.contents.grant.scope ?? issuer.scope ?? "openid"
    let signOn: SignedOn
    do throws(SessionError) {
      signOn = try await self.signOn(
        Secret(token), scope: scope, audience: slot.audience, key: live.key, at: issuer, releasing: suspended, in: call)
    } catch {
      if case .adviceRequired(var suspended) = error.kind {
        suspended.slot = slot
        throw SessionError(suspended)
      }
      guard error.isFinal else { throw error }
      throw SessionError(.expired, error.detail, upstreamCode: error.upstreamCode, isFinal: true)
    }
    let form = (signOn.grant.form(scope: nil) ?? []) + TokenSlot(scope: nil, audience: slot.audience).form
    do throws(TokenError) {
      let answer = try await requests.token(form, at: issuer.issuer, key: live.key, in: call)
      guard answer.response.idToken != nil || !isKnown else {
        throw TokenError(.malformed, "the token endpoint gave no ID token for a login", status: 200)
      }
      return RefreshedToken(
        answer: answer, slot: slot,
        expectations: IDTokenExpectations(
          clientID: issuer.issuer.clientID, nonce: signOn.pending.requirement.nonce, authorizationCode: signOn.code,
          accessToken: Secret(answer.response.accessToken)))
    } catch {
      // An invalid code does not make the single sign-on token invalid.
      throw SessionError(error)
    }
  }

  /// Returns an authorization code. The access manager may suspend the request for advice, once: `releasing` is such a
  /// request whose advice has been satisfied.
  private func signOn(
    _ token: Secret<String>, scope: String, audience: String?, key: DPoPKey?, at issuer: SessionIssuer,
    releasing suspended: SuspendedAuthorization?, in call: CallScope
  ) async throws(SessionError) -> SignedOn {
    guard let manager = issuer.accessManager else {
      throw .grantNotSupported("the issuer is configured without an access manager")
    }
    let (pending, request) =
      if let suspended {
        (suspended.pending, suspended.request)
      } else {
        try signOnRequest(manager, scope: scope, audience: audience, key: key, issuer.issuer)
      }
    let url: HTTPURL
    let response: HTTPResponse
    do throws(TokenError) {
      if let suspended {
        url = suspended.location
      } else {
        url = try await accessManagers.authorizationURL(of: manager, for: issuer.issuer, in: call)
      }
      // Consent, which the vendor protects by the token itself: no other party can know it.
      let consent = [(name: "decision", value: "allow"), (name: "csrf", value: token.reveal())]
      response = try await accessManagers.send(
        request.form(missingIn: url) + consent, to: url, token: token, version: "resource=2.1, protocol=1.0",
        of: manager, for: issuer.issuer, in: call)
    } catch {
      throw SessionError(error)
    }
    let answer: AuthorizeAnswer
    do throws(AuthorizationError) {
      answer = try AuthorizeAnswer(response, from: url.withoutQuery, to: request, of: manager)
    } catch {
      if AuthorizeAnswer.strayCodes.contains(error.code) {
        observer?.observe(
          .troubled("an authorization at issuer \(issuer.issuer.name) is not followed", detail: error.detail), in: call)
      }
      throw SessionError(error)
    }
    switch answer {
    case .callback(let callback): return try Self.accept(callback, request, pending, issuer.issuer)
    case .advice(let advices, let location):
      guard suspended == nil else {
        throw SessionError(
          AuthorizationError("the access manager requires more after its advice was satisfied", "interaction_required"))
      }
      let secret = token.reveal()
      guard !advices.contains(where: { EchoedToken.isIn($0.value, secret) || EchoedToken.isIn($0.type, secret) }) else {
        throw SessionError(
          AuthorizationError("the access manager's advice contains the single sign-on token", "invalid_redirect"))
      }
      throw SessionError(
        SuspendedAuthorization(advices: advices, request: request, pending: pending, location: location, token: token))
    }
  }

  private func signOnRequest(
    _ manager: AccessManager, scope: String, audience: String?, key: DPoPKey?, _ issuer: Issuer
  ) throws(SessionError) -> (PendingAuthorization, SignOnRequest) {
    guard let redirectURI = manager.redirectURI else {
      throw .grantNotSupported("the issuer is configured without redirectUri")
    }
    let state = SessionHandle.random().text
    let request = AuthorizationRequest(redirectURI: redirectURI)
    let pending = PendingAuthorization(request, at: issuer, scope: scope)
    var form = pending.form(request, state: state, key: key)
    if let audience { form += ClientCredentialsGrant.audienceMembers(audience) }
    return (pending, SignOnRequest(redirectURI: redirectURI, state: state, form: form))
  }

  /// The code in the answer, when everything around it is right.
  private static func accept(
    _ callback: AuthorizationCallback, _ request: SignOnRequest, _ pending: PendingAuthorization, _ issuer: Issuer
  ) throws(SessionError) -> SignedOn {
    // Before anything else, errors included, is believed.
    guard callback["state"]?.hasSameBytes(as: request.state) ?? false else {
      throw SessionError(AuthorizationError("the access manager answers another request", "state_mismatch"))
    }
    do throws(AuthorizationError) {
      return SignedOn(code: Secret(try pending.code(in: callback, of: issuer)), pending: pending)
    } catch {
      throw SessionError(error, isFinal: AuthorizeAnswer.endsSession(callback["error"]))
    }
  }

  /// Ends the user's single sign-on session at the access manager.
  package func end(
    _ token: String, at issuer: SessionIssuer, timeout: Duration = ProviderClient.timeout, in call: CallScope
  ) async -> UserSessions.UpstreamEnd {
    guard let manager = issuer.accessManager else { return .none }
    return await accessManagers.endSession(
      Secret(token), of: manager, for: issuer.issuer, timeout: timeout, in: call)
  }
}
