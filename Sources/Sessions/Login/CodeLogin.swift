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
    _ request: AuthorizationRequest, at issuer: SessionIssuer, ownedBy uid: UInt32, dpopKey: JSONValue?,
    steppingUp session: SessionHandle? = nil, trace: TraceContext?
  ) async throws(SessionError) -> BegunAuthorization {
    if session == nil, let resource = request.resource, !ClientCredentialsGrant.isAbsoluteURI(resource) {
      throw .invalid("resource must be an absolute URI without a fragment", path: ["resource"])
    }
    let state = SessionHandle.random().text
    let proof = PKCE.random()
    let key = try DPoPKey.recorded(dpopKey)
    let expiresAt = clock.wallNow + Self.life
    let pending: PendingAuthorization
    let url: String
    do throws(TokenError) {
      let metadata = try await requests.provider.authorizationMetadata(issuer.issuer, trace: trace)
      pending = PendingAuthorization(
        issuer: issuer.issuer.name, issuerIdentifier: issuer.issuer.identifier, clientID: issuer.issuer.clientID,
        redirectURI: request.redirectURI, verifier: proof.verifier, nonce: Base64URL.string(SecureRandom.bytes(16)),
        scope: request.scope ?? issuer.scope ?? "openid", maxAge: request.maxAge, acrValues: request.acrValues,
        resource: request.resource, dpopKey: dpopKey, expectsIssuer: metadata?.sendsIssuerInAuthorizationResponse,
        stepUp: session?.text)
      var form = Self.form(request, pending, state: state, challenge: proof.challenge)
      if let key { form.append((name: "dpop_jkt", value: key.thumbprint)) }
      url = try await requests.provider.authorizationURL(form, at: issuer.issuer, key: key, trace: trace)
    } catch {
      throw SessionError(error)
    }
    guard let contents = pending.bytes else { throw SessionError(.stateUnknown, "the authorization cannot be kept") }
    try await repository.writer.insert(
      StoredRecord(
        key: PendingAuthorization.key(ofState: state), uid: uid, version: 1, expiresAt: expiresAt,
        contents: contents))
    return BegunAuthorization(url: url, state: state, expiresAt: expiresAt)
  }

  /// Completes an authorization with the URL to which the issuer sent the user back.
  func complete(
    _ url: String, ownedBy uid: UInt32, issuer: (String) throws(SessionError) -> SessionIssuer, trace: TraceContext?
  ) async throws(SessionError) -> Session {
    let redemption = try await redemption(of: url, uid, issuer)
    let pending = redemption.pending
    return try await creation.create(
      NewSession(
        grant: redemption.grant, issuer: redemption.issuer, scope: pending.scope, uid: uid, key: pending.dpopKey,
        resource: pending.resource, expectations: AuthorizationExpectations(pending), claim: redemption.claim,
        trace: trace))
  }

  /// A code that came back, with all that belongs to it.
  struct Redemption: Sendable {
    let code: String
    let pending: PendingAuthorization
    let issuer: SessionIssuer
    let claim: GrantClaim

    var grant: SessionGrant {
      .authorizationCode(
        code: Secret(code), codeVerifier: Secret(pending.verifier), redirectURI: pending.redirectURI)
    }
  }

  /// The code in the URL of a callback, when everything around it is right.
  func redemption(
    of url: String, _ uid: UInt32, _ issuer: (String) throws(SessionError) -> SessionIssuer,
    steppingUp session: SessionHandle? = nil
  ) async throws(SessionError) -> Redemption {
    guard let callback = AuthorizationCallback(url) else {
      throw SessionError(.invalid(path: ["callbackUrl"]), "the callback's URL cannot be read")
    }
    guard let state = callback["state"] else { throw SessionError(.stateUnknown, "the callback has no state") }
    let record = try await pendingAuthorization(state, of: uid)
    guard let pending = PendingAuthorization.read(record) else {
      throw SessionError(StoreError(.corrupted, "\(record.key) is no authorization"))
    }
    let issuer = try issuer(pending.issuer)
    // The user logged in for another purpose.
    guard pending.stepUp == session?.text else {
      throw SessionError(.stateUnknown, "the callback is another authorization's")
    }
    guard issuer.issuer.identifier == pending.issuerIdentifier, issuer.issuer.clientID == pending.clientID else {
      throw SessionError(.issuerUnknown, "the issuer has been configured differently since the authorization began")
    }
    do throws(SessionError) {
      let code = try Self.check(callback, pending, issuer.issuer)
      return Redemption(code: code, pending: pending, issuer: issuer, claim: claim(on: record))
    } catch {
      // The callback is wrong: its sender does not get another try.
      try await take(record)
      throw error
    }
  }

  static func form(
    _ request: AuthorizationRequest, _ pending: PendingAuthorization, state: String, challenge: String
  ) -> [(name: String, value: String)] {
    var form = [
      (name: "response_type", value: "code"), (name: "client_id", value: pending.clientID),
      (name: "redirect_uri", value: pending.redirectURI), (name: "scope", value: pending.scope),
      (name: "state", value: state), (name: "nonce", value: pending.nonce),
      (name: "code_challenge", value: challenge), (name: "code_challenge_method", value: "S256"),
    ]
    func add(_ name: String, _ value: String?) {
      if let value { form.append((name: name, value: value)) }
    }
    add("prompt", request.prompt)
    add("acr_values", request.acrValues.isEmpty ? nil : request.acrValues.joined(separator: " "))
    add("max_age", request.maxAge.map(String.init))
    add("login_hint", request.loginHint)
    add("resource", request.resource)
    return form
  }

  /// The pending authorization; another peer's is as unknown as one that is not there.
  private func pendingAuthorization(_ state: String, of uid: UInt32) async throws(SessionError) -> StoredRecord {
    let record: StoredRecord?
    do throws(StoreError) {
      record = try await store.record(for: PendingAuthorization.key(ofState: state))
    } catch {
      throw SessionError(error)
    }
    guard let record, record.uid == uid, let expiresAt = record.expiresAt, expiresAt > clock.wallNow else {
      throw .authorizationUnknown
    }
    return record
  }

  /// Takes the record: one of several callers gets it.
  private func take(_ record: StoredRecord) async throws(SessionError) {
    let taken: StoredRecord?
    do throws(StoreError) {
      taken = try await store.take(record.key)
    } catch {
      throw SessionError(error)
    }
    guard taken != nil else { throw .authorizationUnknown }
  }

  private func claim(on record: StoredRecord) -> GrantClaim {
    GrantClaim(
      take: { () async throws(SessionError) in try await take(record) },
      giveBack: {
        do throws(StoreError) {
          try await store.insert(record)
        } catch {
          observer?.observe(.troubled("an authorization cannot be given back", detail: error.description))
        }
      })
  }

  /// The code, when everything around it is right.
  static func check(
    _ callback: AuthorizationCallback, _ pending: PendingAuthorization, _ issuer: Issuer
  ) throws(SessionError) -> String {
    func failed(_ detail: String, _ code: String) -> SessionError {
      SessionError(.authorizationFailed, detail, upstreamCode: code)
    }
    guard callback.location.hasSameBytes(as: String(pending.redirectURI.prefix(beforeBytes: "?", "#"))) else {
      throw failed("the callback went to another redirect URI", "redirect_uri_mismatch")
    }
    // RFC 9207 section 2.4: an answer of another issuer, or without its name where the issuer always gives it.
    if let iss = callback["iss"] {
      guard iss.isIdentical(to: issuer.identifier) else {
        throw failed("the callback is another issuer's", "iss_mismatch")
      }
    } else if pending.expectsIssuer == true {
      throw failed("the callback does not name its issuer", "missing_iss")
    }
    if let error = callback["error"] {
      let isWord = (1...128).contains(error.utf8.count) && error.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
      throw failed("the issuer denied the authorization", isWord ? error : "invalid_error")
    }
    guard let code = callback["code"], !code.isEmpty else { throw failed("the callback has no code", "missing_code") }
    return code
  }
}
