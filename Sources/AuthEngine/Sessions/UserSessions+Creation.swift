import JSON
import Support

extension UserSessions {
  /// Makes a session from `grant`, owned by the peer `owner`.
  ///
  /// Once a token has been asked for the session is made and stored, whoever still waits: what the issuer gave may not be
  /// had again. `sessions(ownedBy:)` has it then.
  public func create(
    from grant: SessionGrant, at issuer: SessionIssuer, scope: String? = nil, ownedBy owner: UInt32,
    trace: TraceContext? = nil
  ) async throws(SessionError) -> Session {
    try await create(from: grant, at: issuer, scope: scope, owner: owner, expecting: nil, trace: trace)
  }

  /// What the ID token of an authorization must say.
  struct AuthorizationExpectations: Sendable {
    let nonce: String?
    let maxAge: Duration?
    let acrValues: [String]
    /// Whether there must be an ID token: `openid` was asked for.
    let requiresIDToken: Bool
  }

  func create(
    from grant: SessionGrant, at issuer: SessionIssuer, scope: String?, kind: SessionKind = .user, owner: UInt32,
    key: JSONValue? = nil, resource: String? = nil, expecting expectations: AuthorizationExpectations?,
    trace: TraceContext?
  ) async throws(SessionError) -> Session {
    let work = Task { [self] in
      let outcome: Result<Session, SessionError>
      do throws(SessionError) {
        outcome = .success(
          try await make(
            from: grant, at: issuer, scope: scope, kind: kind, owner: owner, key: key, resource: resource,
            expecting: expectations, trace: trace))
      } catch {
        outcome = .failure(error)
      }
      return outcome
    }
    return try await work.value.get()
  }

  private func make(
    from grant: SessionGrant, at issuer: SessionIssuer, scope: String?, kind: SessionKind, owner: UInt32,
    key: JSONValue?, resource: String?, expecting expectations: AuthorizationExpectations?, trace: TraceContext?
  ) async throws(SessionError) -> Session {
    if case .implicit(let profile) = grant {
      return try await makeImplicit(profile, at: issuer, owner: owner, trace: trace)
    }
    let handle = SessionHandle.random()
    var contents = SessionContents(handle, at: issuer, kind: kind, createdAt: clock.wallNow)
    if case .tokens(let given) = grant {
      try contents.take(given, at: clock.wallNow)
      if let idToken = given.idToken { try await takeOld(idToken, at: issuer, into: &contents) }
    } else if let form = grant.form(scope: scope) {
      contents.dpopKey = if let key { key } else { try newKey(for: issuer) }
      contents.resource = resource
      let answer: TokenRequests.Answer
      do throws(TokenError) {
        answer = try await requests.token(
          form + TokenSlot.resource(resource), at: issuer.issuer, key: contents.dpopKey.flatMap { DPoPKey(record: $0) },
          trace: trace)
      } catch {
        throw SessionError(error)
      }
      if case .refreshToken(let token) = grant { contents.refreshToken = token.reveal() }
      contents.scope = answer.response.scope ?? scope
      contents.take(answer, in: .session)
      try await take(answer.response.idToken, at: issuer, grant: grant, expecting: expectations, into: &contents)
    }
    let record = StoredRecord(
      key: handle.key, owner: owner, version: 1, expiresAt: contents.purgeable, contents: try storable(contents))
    try await insert(record)
    await register(contents, ownedBy: owner, at: issuer)
    return keep(contents, of: handle, owner: owner, version: 1).session
  }

  func storable(_ contents: SessionContents) throws(SessionError) -> Secret<[UInt8]> {
    do throws(StoreError) {
      return try contents.bytes()
    } catch {
      throw SessionError(error)
    }
  }

  /// The ID token that came with the first token: valid, or there is no session.
  private func take(
    _ idToken: String?, at issuer: SessionIssuer, grant: SessionGrant,
    expecting authorization: AuthorizationExpectations?, into contents: inout SessionContents
  ) async throws(SessionError) {
    guard let idToken else {
      guard authorization?.requiresIDToken != true else {
        throw SessionError(
          .authorizationFailed, "the token endpoint gave no ID token", upstreamCode: "missing_id_token")
      }
      return
    }
    var expectations = IDTokenExpectations(clientID: issuer.issuer.clientID, nonce: authorization?.nonce)
    expectations.maxAge = authorization?.maxAge
    expectations.acrValues = authorization?.acrValues ?? []
    if let token = contents.tokens.first { expectations.accessToken = Secret(token.value) }
    if case .authorizationCode(let code, _, _) = grant { expectations.authorizationCode = code }
    switch try await verdict(on: idToken, expectations, at: issuer) {
    case .valid(let claims, _, _, _): contents.take(idToken, claims)
    case .invalid(let fault):
      throw SessionError(
        .authorizationFailed, "the ID token is not valid: \(fault.message)", upstreamCode: fault.code.rawValue)
    }
  }

  /// An ID token that came from elsewhere: genuine, though it may have expired since.
  private func takeOld(
    _ idToken: String, at issuer: SessionIssuer, into contents: inout SessionContents
  ) async throws(SessionError) {
    var expectations = IDTokenExpectations(clientID: issuer.issuer.clientID)
    var verdict = try await verdict(on: idToken, expectations, at: issuer)
    if case .invalid(let fault) = verdict, fault.code == .tokenExpired, case .integer(let expiry)? = fault.actual {
      expectations.now = Timestamp(secondsSinceEpoch: expiry) + .seconds(-1)
      verdict = try await self.verdict(on: idToken, expectations, at: issuer)
    }
    switch verdict {
    case .valid(let claims, _, _, _): contents.take(idToken, claims)
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
      throw SessionError(
        .unreachable(TokenError(.malformed, error.detail, status: error.status)),
        "the ID token cannot be validated: \(error.detail)", upstreamCode: error.kind.rawValue)
    }
  }
}
