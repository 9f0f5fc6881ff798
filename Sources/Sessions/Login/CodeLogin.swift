import HTTPMessages
import OAuthClient
import PosternCrypto
import PosternJSON
import PosternSupport
import SessionRecords

/// Logs users in by authorization code (RFC 6749 section 4.1) with PKCE, `state` and `nonce`.
struct CodeLogin: SessionPart {
  /// How long a user has to log in.
  private static let life = Duration.seconds(600)

  let shared: SessionDependencies
  let creation: SessionCreation

  /// Begins an authorization whose tokens will be bound to that key.
  func begin(
    _ request: AuthorizationRequest, at issuer: SessionIssuer, _ origin: LoginOrigin,
    dpopKey: JSONValue?,
    steppingUp session: SessionHandle? = nil, in call: CallScope
  ) async throws(SessionError) -> BegunAuthorization {
    if session == nil, let resource = request.resource, !ClientCredentialsGrant.isAbsoluteURI(resource) {
      throw .invalid("resource must be an absolute URI without a fragment", path: ["resource"])
    }
    let state = SessionHandle.random().text
    let key = try DPoPKey.recorded(dpopKey)
    let expiresAt = clock.wallNow + Self.life
    var pending = PendingAuthorization(
      request, at: issuer.issuer, scope: request.scope ?? issuer.scope ?? "openid")
    pending.dpopKey = dpopKey
    pending.stepUp = session?.text
    pending.path = origin.path
    do throws(TokenError) {
      let metadata = try await requests.provider.authorizationMetadata(issuer.issuer, in: call)
      pending.expectsIssuer = metadata?.sendsIssuerInAuthorizationResponse
    } catch {
      throw SessionError(error)
    }
    // RFC 9700 section 4.4: the code in such a callback may be another issuer's, and would be sent to this one.
    guard pending.expectsIssuer == true || !issuer.sharesRedirectURI(request.redirectURI) else {
      throw .invalid(
        "another configured issuer has the same redirect URI, and callbacks of this issuer do not name it (RFC 9207): "
          + "give each issuer a redirect URI of its own", path: ["redirectUri"])
    }
    let url: String
    do throws(TokenError) {
      url = try await requests.provider.authorizationURL(
        pending.form(request, state: state, key: key), at: issuer.issuer, key: key, in: call)
    } catch {
      throw SessionError(error)
    }
    guard let contents = pending.bytes else { throw SessionError(.stateUnknown, "the authorization cannot be kept") }
    let record = StoredRecord(
      key: PendingAuthorization.key(ofState: state), uid: call.uid, version: 1, expiresAt: expiresAt, contents: contents
    )
    try await repository.insert(login: record, SessionRoom(issuer: issuer.issuer.name, origin), in: call)
    return BegunAuthorization(url: url, state: state, expiresAt: expiresAt)
  }

  /// Completes an authorization with the URL to which the issuer sent the user back.
  func complete(
    _ url: String, state: String, _ origin: LoginOrigin,
    issuer: (String) throws(SessionError) -> SessionIssuer, in call: CallScope
  ) async throws(SessionError) -> Session {
    let redemption = try await redemption(of: url, expecting: state, origin, issuer, in: call)
    let pending = redemption.pending
    return try await creation.create(
      NewSession(
        grant: redemption.grant, issuer: redemption.issuer, scope: pending.scope, origin: origin,
        key: pending.dpopKey,
        authorization: pending, claim: redemption.claim, call: call))
  }

  /// The configured name of the issuer that a callback is of; nil if that is not known.
  func issuerName(of url: String, in call: CallScope) async throws(SessionError) -> String? {
    guard let state = AuthorizationCallback(url)?["state"],
      let record = try await repository.pendingLogin(PendingAuthorization.key(ofState: state), in: call)
    else { return nil }
    return PendingAuthorization.read(record)?.issuer.name
  }

  /// A code that came back, with all that belongs to it.
  struct Redemption: Sendable {
    let code: Secret<String>
    let pending: PendingAuthorization
    let issuer: SessionIssuer
    let claim: GrantClaim

    var grant: SessionGrant { pending.grant(of: code) }
  }

  /// The code in the URL of a callback, when everything around it is right. `expected` is the state that the browser
  /// has kept; nil for a step-up, which `session` binds.
  func redemption(
    of url: String, expecting expected: String?, _ origin: LoginOrigin,
    _ issuer: (String) throws(SessionError) -> SessionIssuer,
    steppingUp session: SessionHandle? = nil, in call: CallScope
  ) async throws(SessionError) -> Redemption {
    guard let callback = AuthorizationCallback(url) else {
      throw SessionError(.invalid(path: ["callbackUrl"]), "the callback's URL cannot be read")
    }
    guard let state = callback["state"] else { throw SessionError(.stateUnknown, "the callback has no state") }
    // Before anything is looked up or used: the login may be under way in the browser that began it.
    guard expected.map({ ConstantTime.equals(Array($0.utf8), Array(state.utf8)) }) ?? true else {
      throw .stateMismatch
    }
    guard let record = try await repository.pendingLogin(PendingAuthorization.key(ofState: state), in: call) else {
      throw .authorizationUnknown
    }
    guard let pending = PendingAuthorization.read(record) else {
      throw SessionError(StoreError(.corrupted, "\(record.key) is no authorization"))
    }
    guard origin.covers(pending.path ?? []) else { throw .authorizationUnknown }
    let issuer = try issuer(pending.issuer.name)
    // The user logged in for another purpose.
    guard pending.stepUp == session?.text else {
      throw SessionError(.stateUnknown, "the callback is another authorization's")
    }
    guard pending.issuer.isIdentical(to: issuer.issuer) else {
      throw SessionError(.issuerUnknown, "the issuer has been configured differently since the authorization began")
    }
    do throws(AuthorizationError) {
      let code = Secret(try pending.code(in: callback, of: issuer.issuer))
      return Redemption(code: code, pending: pending, issuer: issuer, claim: claim(on: record, call))
    } catch {
      // The callback is wrong: its sender does not get another try.
      try await take(record, call)
      throw SessionError(error)
    }
  }

  /// Takes the record: one of several callers gets it.
  private func take(_ record: StoredRecord, _ call: CallScope) async throws(SessionError) {
    let taken = try await inStore { () async throws(StoreError) in try await store.take(record.key, by: call.uid) }
    guard taken != nil else { throw .authorizationUnknown }
  }

  private func claim(on record: StoredRecord, _ call: CallScope) -> GrantClaim {
    GrantClaim(
      key: record.key,
      take: { () async throws(SessionError) in try await take(record, call) },
      giveBack: {
        do throws(StoreError) {
          try await store.insert(record)
        } catch {
          observer?.observe(.troubled("an authorization cannot be given back", detail: error.description), in: call)
        }
      })
  }
}

/// A claim on a stored grant that can be used once: taken just before the grant is sent, given back when the issuer did
/// not answer.
struct GrantClaim: Sendable {
  /// The record of the grant.
  let key: RecordKey
  /// Throws when another call has it.
  let take: @Sendable () async throws(SessionError) -> Void
  /// Undoes `take`.
  let giveBack: @Sendable () async -> Void
}
