package import HTTPMessages
import PosternCrypto
import PosternJSON
package import PosternSupport

/// Makes DPoP proofs (RFC 9449 section 4.2) as one kind of server expects them.
///
/// Nonces of an authorization server mean nothing to a resource server at the same origin (RFC 9449 section 9), so
/// there is one prover for authorization servers, and one for each kind of resource server. Nonces and clocks are kept
/// for each key and user: an answer to one user must not decide about another one's proofs.
package final class DPoPProver: Sendable {
  /// The field that contains a proof.
  static let field = "DPoP"
  /// The number of keys and servers whose terms are kept; the uid with the most of them loses its least recently used
  /// ones.
  static let capacity = 4096

  private let clock: any EngineClock
  private let known = Locked(FairCache<UInt32, DPoPProof.Scope, DPoPTerms>(capacity: capacity))

  package init(clock: any EngineClock) { self.clock = clock }

  /// Adds a proof to `request`, made for this one message: its method, its URL without query, its token.
  ///
  /// `HTTPURL` is normalised as RFC 9449 section 4.3 requires; `iat` is by the server's clock, as far as that is known.
  /// The proof follows `terms` where the answer to an earlier attempt gave some, else those known for `uid`.
  @discardableResult
  package func prove(
    _ request: inout HTTPRequest, with key: DPoPKey, token: Secret<String>? = nil, by terms: DPoPTerms? = nil,
    for uid: UInt32
  ) throws(TokenError) -> DPoPProof {
    let scope = DPoPProof.Scope(origin: request.url.origin, thumbprint: key.thumbprint, uid: uid)
    let proof = DPoPProof(scope: scope, terms: terms ?? self.terms(at: scope), madeAt: clock.wallNow)
    var claims: JSONObject = [
      "jti": .string(Base64URL.string(SecureRandom.bytes(16))), "htm": .string(request.method),
      "htu": .string("\(request.url.withoutQuery)"),
      "iat": .integer((proof.madeAt + proof.terms.skew).secondsSinceEpoch),
    ]
    if let token { claims["ath"] = .string(Self.hash(of: token)) }
    if let nonce = proof.terms.nonce { claims["nonce"] = .string(nonce) }
    request.fields[Self.field] = try key.sign(claims)
    return proof
  }

  /// Learns the nonce that came with the answer to `proof`, whatever its status (RFC 9449 section 8.2), and the
  /// server's time where it rejected the proof. Returns the terms for the proof of a retry, where one may be made; nil
  /// when the answer is final.
  @discardableResult
  package func learn(from response: HTTPResponse, to proof: DPoPProof, _ rejection: DPoPRejection?) -> DPoPTerms? {
    let nonce = DPoPTerms.nonce(in: response.fields)
    let skew = rejection == nil ? nil : skew(by: response, to: proof)
    known.withLock { known in
      let before = known[proof.scope] ?? DPoPTerms()
      let after = DPoPTerms(nonce: nonce ?? before.nonce, skew: skew ?? before.skew)
      if after != before { known.set(after, for: proof.scope, of: proof.scope.uid) }
    }
    switch rejection {
    case .nonce where nonce != nil, .proof where skew != nil: break
    default: return nil
    }
    return DPoPTerms(nonce: nonce ?? proof.terms.nonce, skew: skew ?? proof.terms.skew)
  }

  /// Runs `attempt`, and retries it once where the server rejects its proof and gives the terms for another one.
  package func retrying<Answer, Failure: Error>(
    _ rejection: (HTTPResponse) -> DPoPRejection?,
    _ attempt: (DPoPTerms?) async throws(Failure) -> (answer: Answer, response: HTTPResponse, proof: DPoPProof?)
  ) async throws(Failure) -> Answer {
    let first = try await attempt(nil)
    guard let proof = first.proof, let terms = learn(from: first.response, to: proof, rejection(first.response)) else {
      return first.answer
    }
    let second = try await attempt(terms)
    if let proof = second.proof { learn(from: second.response, to: proof, rejection(second.response)) }
    return second.answer
  }

  /// Returns what is known of a scope.
  func terms(at scope: DPoPProof.Scope) -> DPoPTerms { known.withLock { $0[scope] } ?? DPoPTerms() }

  /// Returns how far the server's clock is ahead, where the proof was not made by that clock.
  private func skew(by response: HTTPResponse, to proof: DPoPProof) -> Duration? {
    let (made, now, used) = (proof.madeAt, clock.wallNow, proof.terms.skew)
    // `Date` has whole seconds: a skew that is consistent with it is not replaced by another one.
    guard let error = ClockSkew.of(response, sentAt: made + used, receivedAt: now + used), error != .zero else {
      return nil
    }
    return ClockSkew.of(response, sentAt: made, receivedAt: now)
  }

  /// `ath`: the token's SHA-256 in base64url.
  private static func hash(of token: Secret<String>) -> String {
    Base64URL.string(HashFunction.sha256.hash(Array(token.reveal().utf8)))
  }
}

/// A proof that has been sent, to which an answer belongs.
package struct DPoPProof: Sendable {
  /// The scope of a server's nonce: an answer about one key in one user's requests means nothing for any other.
  struct Scope: Hashable, Sendable {
    let origin: HTTPURL.Origin
    let thumbprint: String
    let uid: UInt32
  }

  let scope: Scope
  let terms: DPoPTerms
  /// The time of the proof, by the wall clock.
  let madeAt: Timestamp
}

/// The nonce and the clock that a server expects in the proofs of one key.
package struct DPoPTerms: Sendable, Equatable {
  /// Longer nonces are ignored: they have to be sent back in every request.
  static let maxNonceBytes = 1024

  /// The server's newest nonce (RFC 9449 sections 8 and 9); nil when it has given none.
  var nonce: String?
  /// How far its clock is ahead of this machine's.
  var skew = Duration.zero

  /// Reads the nonce of an answer: one field of `NQCHAR` (RFC 9449 section 8.1). Anything else is none.
  static func nonce(in fields: HTTPFields) -> String? {
    let values = fields.values(of: "DPoP-Nonce")
    guard values.count == 1, (1...maxNonceBytes).contains(values[0].utf8.count),
      values[0].utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") })
    else { return nil }
    return values[0]
  }
}

/// The reason why a server rejected a proof.
package enum DPoPRejection: Sendable {
  /// The proof lacks the server's newest nonce (RFC 9449 sections 8 and 9).
  case nonce
  /// The proof or its token is not accepted; the server's clock may differ.
  case proof

  /// Reads the rejection of an authorization server (RFC 9449 sections 5 and 8).
  init?(ofIssuer response: HTTPResponse) {
    guard response.status == 400 || response.status == 401 else { return nil }
    let document = try? JSONParser(maxBytes: TokenResponse.maxBytes, maxDepth: 16).parse(response.body)
    switch document?["error"]?.stringValue {
    case "use_dpop_nonce": self = .nonce
    case "invalid_dpop_proof": self = .proof
    default: return nil
    }
  }

  /// Reads the rejection of a resource server (RFC 9449 sections 7.1 and 9).
  package init?(ofResource response: HTTPResponse) {
    guard response.status == 401 else { return nil }
    let challenges = AuthenticationChallenge.all(in: response.fields)
    if challenges.contains(where: \.wantsDPoPNonce) {
      self = .nonce
    } else if challenges.contains(where: \.rejectsDPoPProof) {
      self = .proof
    } else {
      return nil
    }
  }
}

extension AuthenticationChallenge {
  /// Errors that a newer token does not change: its scope (RFC 6750 section 3.1), how the user was authenticated (RFC
  /// 9470), the proof that came with it (RFC 9449 section 7.1).
  private static let beyondRefresh: Set<String> = [
    "insufficient_scope", "insufficient_user_authentication", "invalid_dpop_proof", "use_dpop_nonce",
  ]

  /// Whether a newer token can meet the challenge.
  package var callsForAnotherToken: Bool {
    (isScheme("Bearer") || isScheme("DPoP")) && self["error"].map { !Self.beyondRefresh.contains($0) } ?? true
  }

  /// Whether the proof lacks the server's newest nonce (RFC 9449 section 9).
  var wantsDPoPNonce: Bool { isScheme("DPoP") && self["error"] == "use_dpop_nonce" }

  /// Whether the proof, or the token it came with, is not accepted (RFC 9449 section 7.1).
  var rejectsDPoPProof: Bool {
    isScheme("DPoP") && (self["error"] == "invalid_dpop_proof" || self["error"] == "invalid_token")
  }
}
