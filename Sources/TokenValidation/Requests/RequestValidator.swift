import HTTPMessages
package import OAuthClient
import PosternCrypto
import PosternJSON
package import PosternSupport
package import SessionRecords

/// Decides whether requests may pass an API: RFC 6750 for the token, RFC 9449 for proofs of possession, RFC 8705 for
/// client certificates, RFC 9470 for how the user authenticated.
///
/// The order is that of the cost: what needs no key comes first, then the proof's signature, the token, the API's
/// requirements on it. A proof is used up last, so that a request that fails for any other reason leaves it usable.
package struct RequestValidator: Sendable {
  /// The most scopes or authentication contexts that a request may be required to have.
  private static let maxEntries = 100

  /// Judges the tokens.
  package let judge: TokenJudge
  private let nonces: ProofNonces
  private let store: any RecordStore
  private let clock: any EngineClock

  package init(judge: TokenJudge, store: any RecordStore, clock: any EngineClock) {
    self.judge = judge
    nonces = ProofNonces(store: store)
    self.store = store
    self.clock = clock
  }

  /// Returns the verdict on `request`. Throws where there is none: `malformed` for a call that makes no sense, anything
  /// else for what is out of reach at the moment.
  ///
  /// A proof is good for one request, whichever uid calls: the APIs of several uids may be one to the client. The
  /// caller's uid has the share of the store that proofs use.
  package func verdict(
    on request: IncomingRequest, requiring requirements: RequestRequirements, from source: TokenSource,
    in scope: CallScope = CallScope()
  ) async throws(RequestValidationError) -> RequestVerdict {
    let check = RequestCheck(
      url: try Self.url(request), certificate: try Self.thumbprint(request.clientCertificate), request: request,
      requirements: try Self.checked(requirements), source: source, now: clock.wallNow)
    do throws(RequestCheck.Stop) {
      return .accepted(try await accepted(check, scope))
    } catch {
      switch error {
      case .rejected(let rejection): return .rejected(rejection)
      case .undecided(let error): throw error
      }
    }
  }

  private func accepted(
    _ check: RequestCheck, _ scope: CallScope
  ) async throws(RequestCheck.Stop) -> AcceptedRequest {
    let shown = try check.presentation()
    var proof: (reading: ProofReading, thumbprint: String)?
    if let reading = try check.proof(with: shown) {
      if check.source.proofs.requiresNonce { try check.requireNonce(in: reading, by: try await nonceKey(scope)) }
      proof = (reading, try check.proven { () throws(ProofFault) in try reading.verifiedThumbprint() })
    }
    let token = try await judged(shown, check, scope)
    try check.judge(token, shown, jkt: proof?.thumbprint)
    if let proof { try await use(proof.reading, of: proof.thumbprint, check, scope.uid) }
    return AcceptedRequest(
      claims: token.claims, tokenType: shown.type, jkt: proof?.thumbprint,
      x5tS256: token.claims["cnf"]?["x5t#S256"]?.stringValue, isCached: token.isCached)
  }

  private func nonceKey(_ scope: CallScope) async throws(RequestCheck.Stop) -> NonceKey {
    do throws(StoreError) {
      return try await nonces.key(for: scope.uid)
    } catch {
      throw .undecided(.notRecorded(error))
    }
  }

  private func judged(
    _ shown: TokenPresentation, _ check: RequestCheck, _ scope: CallScope
  ) async throws(RequestCheck.Stop) -> JudgedToken {
    do throws(TokenJudgeError) {
      return try await judge.judge(
        shown.token, from: check.source, expecting: .judgedByPolicy(), orOpaque: IntrospectionExpectations(),
        in: scope)
    } catch {
      switch error {
      case .invalid(let fault): throw check.invalidToken(fault, shown.type)
      case .undecided(let error): throw .undecided(.undecided(error))
      case .notIntrospected(let error): throw .undecided(.notIntrospected(error))
      }
    }
  }

  /// Uses the proof up, in one atomic step.
  private func use(
    _ proof: ProofReading, of thumbprint: String, _ check: RequestCheck, _ uid: UInt32
  ) async throws(RequestCheck.Stop) {
    let now = clock.wallNow
    // Judging the token may have taken until after the end of the proof, when a record of its use is gone.
    try check.proven { () throws(ProofFault) in try proof.check(at: now, check.source.proofs) }
    let isFirst: Bool
    do throws(StoreError) {
      isFirst = try await store.spend(
        ProofReading.use(of: proof.jti, by: thumbprint), by: check.share(of: uid), until: proof.recordEnd, at: now)
    } catch {
      throw .undecided(.notRecorded(error))
    }
    guard isFirst else {
      throw check.rejected(
        TokenFault(.proofReplayed, "the proof was used before"), detail: "jti", 401, .init(error: "invalid_dpop_proof"),
        for: [.dpop])
    }
  }

  private static func url(_ request: IncomingRequest) throws(RequestValidationError) -> HTTPURL {
    guard HTTPFieldRules.isName(request.method) else {
      throw .malformed("method", "is no HTTP method")
    }
    do throws(HTTPURLError) {
      return try HTTPURL(String(request.url.prefix(beforeBytes: "?", "#")))
    } catch {
      throw .malformed("url", error.phrase)
    }
  }

  /// The thumbprint of the first certificate (RFC 8705 section 3.1). Whether it can be trusted is the business of who
  /// ended the connection's TLS.
  private static func thumbprint(_ pem: String?) throws(RequestValidationError) -> String? {
    guard let pem else { return nil }
    guard pem.utf8.count <= Certificate.maximumByteCount, let chain = try? CertificateChain(pem: Array(pem.utf8)) else {
      throw .malformed("clientCertificate", "is no certificate in PEM")
    }
    return Base64URL.string(HashFunction.sha256.hash(chain.certificate))
  }

  private static func checked(
    _ requirements: RequestRequirements
  ) throws(RequestValidationError) -> RequestRequirements {
    for (name, list) in [("requiredScopes", requirements.requiredScopes), ("acrValues", requirements.acrValues)] {
      guard list.count <= maxEntries else { throw .malformed(name, "has more than \(maxEntries) entries") }
      guard list.allSatisfy(ReadyResponses.isListable) else {
        throw .malformed(name, "has an entry that is empty or has characters that none has")
      }
    }
    if let location = requirements.resourceMetadata, (try? HTTPURL(location)) == nil {
      throw .malformed("resourceMetadata", "is no URL")
    }
    return requirements
  }
}

/// The rules for one request. A value without state.
struct RequestCheck: Sendable {
  /// Why a check ended.
  enum Stop: Error, Sendable {
    case rejected(RequestRejection)
    case undecided(RequestValidationError)
  }

  /// Without query: browsers leave characters in a query that a URL may not have.
  let url: HTTPURL
  let certificate: String?
  let request: IncomingRequest
  let requirements: RequestRequirements
  let source: TokenSource
  let now: Timestamp

  /// The share of the store's capacity that used proofs of this API take: that of one API leaves capacity to the others
  /// of the same uid.
  func share(of uid: UInt32) -> SpendingShare {
    let audience = requirements.audience ?? "\(url.origin)"
    return SpendingShare(uid: uid, part: "\(source.issuer?.name ?? "") \(audience)")
  }

  private var responses: ReadyResponses { ReadyResponses(realm: "\(url.origin)", requirements) }

  func rejected(
    _ fault: TokenFault, detail: String? = nil, _ status: Int, _ problem: ReadyResponses.Problem? = nil,
    for schemes: [TokenType] = [], nonce: String? = nil
  ) -> Stop {
    .rejected(
      RequestRejection(
        fault: fault, detail: detail,
        response: responses.response(status, problem, for: schemes, nonce: nonce)))
  }

  func invalidToken(_ fault: TokenFault, _ type: TokenType) -> Stop {
    rejected(fault, 401, .init(error: "invalid_token", description: fault.message), for: [type])
  }

  /// The token that the request shows.
  func presentation() throws(Stop) -> TokenPresentation {
    let shown: TokenPresentation
    do throws(PresentationFault) {
      shown = try TokenPresentation(request.fields, query: request.query)
    } catch {
      switch error.answer {
      case .challenge: throw rejected(error.fault, 401)
      case .malformed:
        throw rejected(
          error.fault, 400, .init(error: "invalid_request", description: error.fault.message), for: [.bearer, .dpop])
      case .invalid: throw invalidToken(error.fault, .bearer)
      }
    }
    return shown
  }

  /// The proof that belongs to the token, checked but for its nonce and its signature; nil where none is needed.
  func proof(with shown: TokenPresentation) throws(Stop) -> ProofReading? {
    let values = request.fields.values(of: "DPoP")
    if requirements.dpop == .forbidden {
      guard values.isEmpty else { throw invalidProof(ProofFault("field", "the API accepts no proofs")) }
      guard shown.type == .bearer else {
        throw rejected(TokenFault(.tokenMissing, "the request has credentials of another scheme"), 401)
      }
      return nil
    }
    guard shown.type == .dpop else {
      // Either the proof is missing in the scheme, or it does not belong to the token.
      guard values.isEmpty else {
        throw invalidToken(TokenFault(.confirmationMismatch, "a proof came with a bearer token"), .bearer)
      }
      guard requirements.dpop != .required else { throw missingProof }
      return nil
    }
    guard !values.isEmpty else { throw missingProof }
    return try proven { () throws(ProofFault) in
      let reading = try ProofReading(values)
      try reading.check(method: request.method, url: url)
      try reading.check(at: now, source.proofs)
      try reading.check(token: shown.token)
      return reading
    }
  }

  /// Rejects a proof without a nonce of now, with a new one.
  func requireNonce(in proof: ProofReading, by key: NonceKey) throws(Stop) {
    let life = source.proofs.nonceLife
    if let nonce = proof.nonce, key.accepts(nonce, for: url.origin, life: life, at: now) { return }
    throw rejected(
      TokenFault(.useNonce, proof.nonce == nil ? "the proof has no nonce" : "the nonce of the proof is not one of now"),
      detail: "nonce", 401, .init(error: "use_dpop_nonce", description: "a nonce is required"), for: [.dpop],
      nonce: key.nonce(for: url.origin, life: life, at: now))
  }

  /// Returns the value of `body`, or throws its fault as a rejection.
  func proven<Value>(_ body: () throws(ProofFault) -> Value) throws(Stop) -> Value {
    do throws(ProofFault) {
      return try body()
    } catch {
      throw invalidProof(error)
    }
  }

  private var missingProof: Stop {
    rejected(
      TokenFault(.proofMissing, "the request has no proof of possession"), 401,
      .init(error: "invalid_dpop_proof", description: "a proof is required"), for: [.dpop])
  }

  private func invalidProof(_ fault: ProofFault) -> Stop {
    rejected(
      TokenFault(.invalidProof, fault.message), detail: fault.part, 401, .init(error: "invalid_dpop_proof"),
      for: [.dpop])
  }

  /// Checks a genuine token: whose it is, what it was granted, how its user authenticated.
  func judge(_ token: JudgedToken, _ shown: TokenPresentation, jkt: String?) throws(Stop) {
    let type = shown.type
    if token.isOpaque, let stated = token.claims["token_type"]?.stringValue {
      let known = TokenType(named: stated)
      guard known == .bearer || known == type else {
        throw invalidToken(
          known == nil
            ? TokenFault(.tokenTypeMismatch, "the token is no access token", claim: "token_type")
            : TokenFault(.confirmationMismatch, "the token needs a proof", claim: "token_type"), type)
      }
    }
    let audience: PresentedTokenPolicy.Audience =
      requirements.audience.map { .named($0) } ?? .origin(url.origin, mayBeAbsent: token.isOpaque)
    let policy = PresentedTokenPolicy(
      audience: audience, jkt: jkt, x5tS256: certificate, requiredScopes: requirements.requiredScopes,
      acrValues: requirements.acrValues, maxAge: requirements.maxAge,
      format: token.isOpaque ? .rfc9068 : source.tokens.accessTokenFormat)
    do throws(PresentedTokenPolicy.Violation) {
      try policy.check(token.claims, at: now, clockSkew: source.tokens.clockSkew)
    } catch {
      switch error {
      case .audience(let fault), .binding(let fault): throw invalidToken(fault, type)
      case .scope(let fault):
        throw rejected(fault, 403, .init(error: "insufficient_scope", parameters: [scope]), for: [type])
      case .authentication(let fault): throw insufficientAuthentication(fault, type)
      }
    }
  }

  private var scope: (name: String, value: String) {
    (name: "scope", value: requirements.requiredScopes.joined(separator: " "))
  }

  /// The challenge has how the user has to authenticate (RFC 9470 section 3).
  private func insufficientAuthentication(_ fault: TokenFault, _ type: TokenType) -> Stop {
    var problem = ReadyResponses.Problem(error: "insufficient_user_authentication", description: fault.message)
    if !requirements.acrValues.isEmpty {
      problem.parameters.append((name: "acr_values", value: requirements.acrValues.joined(separator: " ")))
    }
    if let maxAge = requirements.maxAge {
      problem.parameters.append((name: "max_age", value: "\(maxAge.components.seconds)"))
    }
    if !requirements.requiredScopes.isEmpty { problem.parameters.append(scope) }
    let fault = TokenFault(
      .insufficientAuthentication, fault.message, claim: fault.claim, expected: fault.expected, actual: fault.actual)
    return rejected(fault, detail: fault.claim, 401, problem, for: [type])
  }
}
