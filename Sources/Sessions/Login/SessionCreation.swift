import OAuthClient
import PosternJSON
import PosternSupport
import SessionRecords
import TokenValidation

/// A session to be created.
struct NewSession: Sendable {
  let grant: SessionGrant
  let issuer: SessionIssuer
  let scope: String?
  let origin: LoginOrigin
  /// The key that the tokens will be bound to; nil: a new one where the issuer binds tokens.
  var key: JSONValue?
  /// The authorization that the grant's code is from.
  var authorization: PendingAuthorization?
  var claim: GrantClaim?
  /// The record of the login that it completes.
  var login: RecordKey?
  var ssoToken: Secret<String>?
  let call: CallScope

  var room: SessionRoom { SessionRoom(issuer: issuer.issuer.name, origin, sparing: login ?? claim?.key) }
}

/// Creates sessions from grants.
struct SessionCreation: SessionPart {
  let shared: SessionDependencies
  let profiles: ProfileRegistry

  /// Creates a session from a grant that is sent to the token endpoint. All that can fail by itself comes before that:
  /// the store, the endpoint, the keys.
  func create(_ new: NewSession) async throws(SessionError) -> Session {
    let handle = SessionHandle.random()
    var contents = SessionContents(handle, at: new.issuer, kind: .user, createdAt: clock.wallNow)
    contents.signOn.token = new.ssoToken?.reveal()
    contents.grant.dpopKey = if let key = new.key { key } else { try new.issuer.newKey() }
    contents.path = new.origin.path
    let key = try DPoPKey.recorded(contents.grant.dpopKey)
    contents.grant.resource = new.authorization?.resource
    let reservation = try await repository.reserve(contents, of: handle, new.room, in: new.call)
    let answer: TokenRequests.Answer
    do throws(SessionError) {
      try await prepare(new.issuer, needsKeys: new.authorization?.isOpenID == true, in: new.call)
      try await new.claim?.take()
      answer = try await request(new, key: key, into: &contents)
      try await validate(answer, of: new, into: &contents)
    } catch {
      await repository.cancel(reservation, in: new.call)
      throw error
    }
    let live = try await fill(reservation, with: contents, new.room, from: answer, at: new.issuer, in: new.call)
    await profiles.register(contents, ownedBy: new.call.uid, at: new.issuer, in: new.call)
    return live.session
  }

  /// Creates a session from tokens that its caller got elsewhere.
  func create(
    from given: SessionGrant.GivenTokens, at issuer: SessionIssuer, _ origin: LoginOrigin, in call: CallScope
  ) async throws(SessionError) -> Session {
    let handle = SessionHandle.random()
    var contents = SessionContents(handle, at: issuer, kind: .user, createdAt: clock.wallNow)
    contents.path = origin.path
    var given = given
    // Only an access manager accepts it.
    if issuer.accessManager == nil { given.ssoToken = nil }
    try contents.take(given, at: clock.wallNow)
    if let idToken = given.idToken { try await takeOld(idToken, at: issuer, into: &contents, in: call) }
    let live = try await repository.insert(
      contents, of: handle, SessionRoom(issuer: issuer.issuer.name, origin), in: call)
    await profiles.register(contents, ownedBy: call.uid, at: issuer, in: call)
    return live.session
  }

  /// Finds the token endpoint, and the keys where there must be an ID token.
  func prepare(_ issuer: SessionIssuer, needsKeys: Bool, in call: CallScope) async throws(SessionError) {
    try await shared.locateTokenEndpoint(of: issuer, in: call)
    guard needsKeys else { return }
    do throws(KeySetError) {
      _ = try await issuer.keys.keySet(in: call.unbounded.untraced)
    } catch {
      throw SessionError(error)
    }
  }

  /// Writes a new session over its reservation. One that is larger than what its uid may still store is not kept: its
  /// tokens are revoked.
  func fill(
    _ reservation: SessionRecord, with contents: SessionContents, _ room: SessionRoom,
    from answer: TokenRequests.Answer, at issuer: SessionIssuer, in call: CallScope
  ) async throws(SessionError) -> LiveSession {
    do throws(SessionError) {
      return try await repository.fill(reservation, with: contents, room, in: call)
    } catch {
      if error.isEndOfSession { revocation.revokeOrphaned(answer, issuer, of: reservation.uid, in: call) }
      guard case .overloaded = error.kind else { throw error }
      await repository.cancel(reservation, in: call)
      revocation.revokeOrphaned(answer, issuer, of: reservation.uid, in: call)
      throw SessionError(.noCapacity, "\(error.detail): the new one is not kept")
    }
  }

  private func request(
    _ new: NewSession, key: DPoPKey?, into contents: inout SessionContents
  ) async throws(SessionError) -> TokenRequests.Answer {
    let resource = TokenSlot.resource(contents.grant.resource)
    var scope = new.scope ?? (new.grant.requestsScope ? new.issuer.scope : nil)
    func send(_ scope: String?) async throws(TokenError) -> TokenRequests.Answer {
      try await requests.token(
        (new.grant.form(scope: scope) ?? []) + resource, at: new.issuer.issuer, key: key, in: new.call)
    }
    do throws(TokenError) {
      let answer: TokenRequests.Answer
      do throws(TokenError) {
        answer = try await send(scope)
      } catch {
        // The issuer's configured scope is not insisted on: a subject may have less.
        guard case .tokenExchange = new.grant, new.scope == nil, scope != nil,
          error.oauthError?.code == "invalid_scope"
        else { throw error }
        scope = nil
        answer = try await send(nil)
      }
      if case .refreshToken(let token) = new.grant { contents.grant.refreshToken = token.reveal() }
      contents.grant.scope = answer.response.scope ?? scope
      contents.take(answer, in: .session)
      return answer
    } catch {
      if !error.isAnswer { await new.claim?.giveBack() }
      throw SessionError(error)
    }
  }

  /// Validates the ID token that came with the first token. Where it is not valid there is no session, and the tokens
  /// are revoked.
  private func validate(
    _ answer: TokenRequests.Answer, of new: NewSession, into contents: inout SessionContents
  ) async throws(SessionError) {
    guard let idToken = answer.response.idToken else {
      guard new.authorization?.isOpenID != true else {
        revocation.revokeOrphaned(answer, new.issuer, of: new.call.uid, in: new.call)
        throw .missingIDToken
      }
      return
    }
    let expectations = IDTokenExpectations(
      of: new.authorization, at: new.issuer, new.grant, accessToken: answer.response.accessToken)
    do throws(SessionError) {
      contents.user.take(idToken, try await idTokens.claims(of: idToken, expectations, at: new.issuer, in: new.call))
    } catch {
      // It was not requested, and there are no keys to validate it with: rather no claims than a lost grant.
      if case .unreachable = error.kind, new.authorization == nil { return }
      revocation.revokeOrphaned(answer, new.issuer, of: new.call.uid, in: new.call)
      throw error
    }
  }

  /// Takes an ID token that came from elsewhere: it must be genuine, but may have expired since.
  private func takeOld(
    _ idToken: String, at issuer: SessionIssuer, into contents: inout SessionContents, in call: CallScope
  ) async throws(SessionError) {
    var expectations = IDTokenExpectations(clientID: issuer.issuer.clientID)
    // The login elsewhere may have had one.
    expectations.rejectsUnexpectedNonce = false
    let verdict = try await idTokens.verdict(on: idToken, expectations, at: issuer, in: call)
    if case .invalid(let fault) = verdict, fault.code == .tokenExpired, case .integer(let expiry)? = fault.actual {
      expectations.now = Timestamp(secondsSinceEpoch: expiry) + .seconds(-1)
    }
    contents.user.take(idToken, try await idTokens.claims(of: idToken, expectations, at: issuer, in: call))
  }
}
