package import HTTPMessages
import PosternCrypto
import PosternJSON
package import PosternSupport

/// Makes proofs of possession (RFC 9449 section 4.2) with what one kind of server wants of them.
///
/// Nonces of an authorization server say nothing to a resource server at the same origin (RFC 9449 section 9): whoever
/// asks the one and whoever asks the other have a prover each. What a server wants is kept for each key and user: pages
/// of one user must not decide what another one's proofs say.
package final class DPoPProver: Sendable {
  /// The field a proof goes out in.
  static let field = "DPoP"
  /// For how many keys and servers it is known what they want; whoever has most of them loses what was not used for
  /// longest.
  static let capacity = 4096

  private let clock: any EngineClock
  private let known = Locked(FairCache<UInt32, DPoPProof.Place, DPoPTerms>(capacity: capacity))

  package init(clock: any EngineClock) { self.clock = clock }

  /// Puts a proof into `request`, made for this one message: its method, its URL without query, its token.
  ///
  /// `HTTPURL` is normalised as RFC 9449 section 4.3 asks; `iat` is by the server's clock, as far as that is known.
  /// Made by `terms` where the answer to an earlier attempt gave some, else by what is known.
  @discardableResult
  package func prove(
    _ request: inout HTTPRequest, with key: DPoPKey, token: Secret<String>? = nil, by terms: DPoPTerms? = nil
  ) throws(TokenError) -> DPoPProof {
    let place = DPoPProof.Place(
      origin: request.url.origin, thumbprint: key.thumbprint, uid: Requesting.uid ?? Requester.process.uid)
    let proof = DPoPProof(place: place, terms: terms ?? self.terms(at: place), madeAt: clock.wallNow)
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

  /// Takes in the nonce that came with the answer to `proof`, of whatever status (RFC 9449 section 8.2), and the
  /// server's time where it rejected the proof. Gives what a repetition is to be made by, where that may be taken; nil:
  /// the answer stands.
  @discardableResult
  package func learn(from response: HTTPResponse, to proof: DPoPProof, _ rejection: DPoPRejection?) -> DPoPTerms? {
    let nonce = DPoPTerms.nonce(in: response.fields)
    let skew = rejection == nil ? nil : skew(by: response, to: proof)
    known.withLock { known in
      let before = known[proof.place] ?? DPoPTerms()
      let after = DPoPTerms(nonce: nonce ?? before.nonce, skew: skew ?? before.skew)
      if after != before { known.set(after, for: proof.place, of: proof.place.uid) }
    }
    switch rejection {
    case .nonce where nonce != nil, .proof where skew != nil: break
    default: return nil
    }
    return DPoPTerms(nonce: nonce ?? proof.terms.nonce, skew: skew ?? proof.terms.skew)
  }

  /// What is known of a place.
  func terms(at place: DPoPProof.Place) -> DPoPTerms { known.withLock { $0[place] } ?? DPoPTerms() }

  /// The server's clock, where the proof was not made by it.
  private func skew(by response: HTTPResponse, to proof: DPoPProof) -> Duration? {
    let (made, now, used) = (proof.madeAt, clock.wallNow, proof.terms.skew)
    // `Date` has whole seconds: a clock that explains it is not exchanged for another one that does.
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
