import KeySets
public import OAuthClient
import PosternJSON
public import PosternSupport
import SessionRecords
import TokenValidation

extension UserSessions {
  /// Makes a session from `grant`, owned by the peer `owner`.
  ///
  /// Once a token has been asked for the session is made and stored, whoever still waits: what the issuer gave may not
  /// be had again. `forEachSession` has it then.
  public func create(
    from grant: SessionGrant, at issuer: SessionIssuer, scope: String? = nil, ownedBy owner: UInt32,
    deadline: Deadline = .never, trace: TraceContext? = nil
  ) async throws(SessionError) -> Session {
    try await finish(for: owner, by: deadline) { [self] () async throws(SessionError) in
      try await make(from: grant, at: issuer, scope: scope, owner: owner, expecting: nil, trace: trace)
    }
  }

  /// What the ID token of an authorization must say.
  struct AuthorizationExpectations: Sendable {
    let nonce: String?
    let maxAge: Duration?
    let acrValues: [String]
    /// Whether there must be an ID token: `openid` was asked for.
    let requiresIDToken: Bool
  }

  /// Everything that can fail by itself comes before the grant is sent: the store, the endpoint, the keys.
  func make(
    from grant: SessionGrant, at issuer: SessionIssuer, scope: String?, kind: SessionKind = .user, owner: UInt32,
    key: JSONValue? = nil, resource: String? = nil, expecting expectations: AuthorizationExpectations?,
    claim: GrantClaim? = nil, ssoToken: Secret<String>? = nil, trace: TraceContext?
  ) async throws(SessionError) -> Session {
    if case .implicit(let profile) = grant {
      return try await makeImplicit(profile, at: issuer, owner: owner, trace: trace)
    }
    if let token = grant.loneSSOToken {
      return try await makeFromSSO(token, at: issuer, scope: scope, owner: owner, trace: trace)
    }
    let handle = SessionHandle.random()
    var contents = SessionContents(handle, at: issuer, kind: kind, createdAt: clock.wallNow)
    contents.ssoToken = ssoToken?.reveal()
    if case .tokens(var given) = grant {
      // Where there is no access manager it is of no use.
      if issuer.accessManager == nil { given.ssoToken = nil }
      try contents.take(given, at: clock.wallNow)
      if let idToken = given.idToken { try await takeOld(idToken, at: issuer, into: &contents) }
      try await insert(
        StoredRecord(
          key: handle.key, owner: owner, version: 1, expiresAt: contents.purgeable(at: clock.wallNow),
          contents: try storable(contents)))
      await register(contents, ownedBy: owner, at: issuer)
      return keep(contents, of: handle, owner: owner, version: 1).session
    }
    contents.dpopKey = if let key { key } else { try newKey(for: issuer) }
    let provingKey = try DPoPKey.recorded(contents.dpopKey)
    contents.resource = resource
    let place = try await reserve(contents, of: handle, owner: owner)
    let answer: TokenRequests.Answer
    do throws(SessionError) {
      try await prepare(issuer, needsKeys: expectations?.requiresIDToken == true, trace)
      try await claim?.take()
      answer = try await ask(grant, at: issuer, scope: scope, key: provingKey, claim, into: &contents, trace)
      try await take(answer, at: issuer, grant: grant, owner: owner, expecting: expectations, into: &contents)
    } catch {
      await giveUp(place)
      throw error
    }
    let live = try await settle(contents, in: place, of: handle, madeOf: answer, at: issuer)
    await register(contents, ownedBy: owner, at: issuer)
    return live.session
  }

  /// The endpoint, and the keys where there must be an ID token.
  func prepare(
    _ issuer: SessionIssuer, needsKeys: Bool, _ trace: TraceContext?
  ) async throws(SessionError) {
    do throws(TokenError) {
      _ = try await requests.provider.url(of: .token, at: issuer.issuer, trace: trace)
    } catch {
      throw SessionError(error)
    }
    guard needsKeys else { return }
    do throws(KeySetError) {
      _ = try await issuer.keys.keySet(deadline: .never)
    } catch {
      throw SessionError(error)
    }
  }

  private func ask(
    _ grant: SessionGrant, at issuer: SessionIssuer, scope: String?, key: DPoPKey?, _ claim: GrantClaim?,
    into contents: inout SessionContents, _ trace: TraceContext?
  ) async throws(SessionError) -> TokenRequests.Answer {
    let more = TokenSlot.resource(contents.resource)
    var asked = scope ?? (grant.asksForScope ? issuer.scope : nil)
    do throws(TokenError) {
      let answer: TokenRequests.Answer
      do throws(TokenError) {
        answer = try await requests.token(
          (grant.form(scope: asked) ?? []) + more, at: issuer.issuer, key: key, trace: trace)
      } catch {
        // What the caller did not ask for is not insisted on: a subject may have less than the issuer's scope.
        guard case .tokenExchange = grant, scope == nil, asked != nil, error.oauthError?.code == "invalid_scope" else {
          throw error
        }
        asked = nil
        answer = try await requests.token(
          (grant.form(scope: nil) ?? []) + more, at: issuer.issuer, key: key, trace: trace)
      }
      if case .refreshToken(let token) = grant { contents.refreshToken = token.reveal() }
      contents.scope = answer.response.scope ?? asked
      contents.take(answer, in: .session)
      return answer
    } catch {
      if !error.isAnswer { await claim?.giveBack() }
      throw SessionError(error)
    }
  }

  /// The ID token that came with the first token: valid, or there is no session, and its tokens are nobody's.
  private func take(
    _ answer: TokenRequests.Answer, at issuer: SessionIssuer, grant: SessionGrant, owner: UInt32,
    expecting authorization: AuthorizationExpectations?, into contents: inout SessionContents
  ) async throws(SessionError) {
    guard let idToken = answer.response.idToken else {
      guard authorization?.requiresIDToken != true else {
        revokeOrphaned(answer, issuer, of: owner)
        throw SessionError(
          .authorizationFailed, "the token endpoint gave no ID token", upstreamCode: "missing_id_token")
      }
      return
    }
    var expectations = IDTokenExpectations(clientID: issuer.issuer.clientID, nonce: authorization?.nonce)
    expectations.maxAge = authorization?.maxAge
    expectations.acrValues = authorization?.acrValues ?? []
    expectations.accessToken = Secret(answer.response.accessToken)
    if case .authorizationCode(let code, _, _) = grant { expectations.authorizationCode = code }
    do throws(SessionError) {
      contents.take(idToken, try await claims(of: idToken, expectations, at: issuer))
    } catch {
      // Nobody asked for it and there are no keys to judge it with: the session has no claims, rather than the grant be
      // lost.
      if case .unreachable = error.kind, authorization == nil { return }
      revokeOrphaned(answer, issuer, of: owner)
      throw error
    }
  }

  /// An ID token that came from elsewhere: genuine, though it may have expired since.
  private func takeOld(
    _ idToken: String, at issuer: SessionIssuer, into contents: inout SessionContents
  ) async throws(SessionError) {
    var expectations = IDTokenExpectations(clientID: issuer.issuer.clientID)
    let verdict = try await verdict(on: idToken, expectations, at: issuer)
    if case .invalid(let fault) = verdict, fault.code == .tokenExpired, case .integer(let expiry)? = fault.actual {
      expectations.now = Timestamp(secondsSinceEpoch: expiry) + .seconds(-1)
    }
    contents.take(idToken, try await claims(of: idToken, expectations, at: issuer))
  }

  /// The claims of an ID token that is valid.
  func claims(
    of idToken: String, _ expectations: IDTokenExpectations, at issuer: SessionIssuer
  ) async throws(SessionError) -> JSONObject {
    switch try await verdict(on: idToken, expectations, at: issuer) {
    case .valid(let claims, _, _, _): return claims
    case .invalid(let fault):
      throw SessionError(
        .authorizationFailed, "the ID token is not valid: \(fault.message)", upstreamCode: fault.code.rawValue)
    }
  }

  /// The verdict on an ID token; no keys means that the issuer is out of reach.
  func verdict(
    on idToken: String, _ expectations: IDTokenExpectations, at issuer: SessionIssuer
  ) async throws(SessionError) -> TokenVerdict {
    do throws(KeySetError) {
      return try await validator.validate(
        idToken, expecting: expectations, configuration: issuer.tokens, keys: issuer.keys)
    } catch {
      throw SessionError(error)
    }
  }

  /// Tokens came that no session will have: they must not live on at the issuer.
  func revokeOrphaned(_ answer: TokenRequests.Answer, _ issuer: SessionIssuer, of owner: UInt32) {
    let token = answer.response.refreshToken ?? answer.response.accessToken
    let hint = answer.response.refreshToken == nil ? "access_token" : "refresh_token"
    revokeInBackground(owner) { [self] in
      do throws(SessionError) {
        try await revoke(Secret(token), hint: hint, at: issuer, timeout: Self.revocationTimeout, trace: nil)
      } catch {
        switch error.kind {
        case .grantNotSupported, .sharedToken: return
        default: observer?.observe(.troubled("tokens of no session cannot be revoked", detail: error.detail))
        }
      }
    }
  }
}
