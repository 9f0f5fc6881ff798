import JOSE
import NIOHTTP1
import PosternCrypto
import PosternJSON
import PosternSupport

/// Proofs of possession as one server checks them (RFC 9449 section 4.3), each good once.
struct DPoPCheck: Sendable {
  /// The reason to reject a proof.
  struct Problem: Error {
    /// A sentence for the developer.
    let description: String
    /// The nonce to use instead, when that is what is wrong (sections 8 and 9).
    var nonce: String?
  }

  /// The algorithms of proofs; published in the metadata and in challenges.
  static let algorithms: [SignatureAlgorithm] = [
    .es256, .es384, .es512, .rs256, .ps256, .ps384, .ps512, .edDSA, .ed25519,
  ]
  private static let longestAge = Duration.seconds(60)
  private static let skew = Duration.seconds(10)

  private let clock: any EngineClock
  private let seen: ExpiringStore<Bool>
  private let statistics: Statistics
  private let needsNonce: @Sendable () -> Bool
  /// The nonces this server hands out.
  let nonces: DPoPNonces

  /// A check of its own; `needsNonce` returns for each proof whether it must have a nonce.
  init(clock: any EngineClock, statistics: Statistics, needsNonce: @escaping @Sendable () -> Bool) {
    self.clock = clock
    self.statistics = statistics
    self.needsNonce = needsNonce
    seen = ExpiringStore(limit: Limits.replayEntries, clock: clock)
    nonces = DPoPNonces(clock: clock)
  }

  /// The thumbprint of the key that made the proof in `request`; nil without a proof. With `accessToken` the proof must
  /// be one for that token.
  func thumbprint(of request: Request, accessToken: String? = nil) throws(Problem) -> String? {
    let fields = request.headers["dpop"]
    guard let proof = fields.first else { return nil }
    do throws(Problem) {
      guard fields.count == 1 else { throw Problem(description: "several DPoP fields") }
      return try check(proof, request, accessToken)
    } catch {
      statistics.count(error.nonce == nil ? \.dpopProofsRejected : \.dpopNonceChallenges)
      throw error
    }
  }

  /// The field that hands out the nonce to use next; empty while none is needed.
  var nonceField: [(String, String)] { needsNonce() ? [("dpop-nonce", nonces.current)] : [] }

  private func check(_ proof: String, _ request: Request, _ accessToken: String?) throws(Problem) -> String {
    guard let token = try? CompactJWS(proof, limits: TokenLimits(maxBytes: 16_384, maxDepth: 8)),
      let claims = try? token.unverifiedClaims()
    else { throw Problem(description: "the proof is not a well-formed JWT") }
    guard token.header.type?.lowercased() == "dpop+jwt" else { throw Problem(description: "typ is not dpop+jwt") }
    guard let algorithm = try? token.algorithm(allowed: Self.algorithms) else {
      throw Problem(description: "alg is not one of the supported ones")
    }
    guard let key = try? token.header.untrustedProofKey(), let thumbprint = key.thumbprint else {
      throw Problem(description: "jwk is not a public key")
    }
    guard (try? token.verifiedPayload(with: key, algorithm: algorithm)) != nil else {
      throw Problem(description: "the signature is not one of jwk")
    }
    guard claims["htm"]?.stringValue == request.method else { throw Problem(description: "htm is another method") }
    guard let target = claims["htu"]?.stringValue.flatMap({ ProofTarget(htu: $0) }), target == ProofTarget(request)
    else {
      throw Problem(description: "htu is another address, or has a query or fragment")
    }
    if let accessToken {
      let hash = Base64URL.string(HashFunction.sha256.hash(Array(accessToken.utf8)))
      guard claims["ath"]?.stringValue == hash else { throw Problem(description: "ath is not the hash of the token") }
    }
    try checkFreshness(claims, of: thumbprint)
    return thumbprint
  }

  private func checkFreshness(_ claims: JSONObject, of thumbprint: String) throws(Problem) {
    if needsNonce() {
      guard let nonce = claims["nonce"]?.stringValue, nonces.accepts(nonce) else {
        throw Problem(description: "the proof needs the nonce of this answer", nonce: nonces.current)
      }
    }
    guard let seconds = claims["iat"]?.integerValue, (0...253_402_300_799).contains(seconds) else {
      throw Problem(description: "iat is missing or no time")
    }
    let age = clock.wallNow - Timestamp(secondsSinceEpoch: seconds)
    guard age <= Self.longestAge, age >= .zero - Self.skew else { throw Problem(description: "iat is not of now") }
    guard let identifier = claims["jti"]?.stringValue, (1...256).contains(identifier.utf8.count) else {
      throw Problem(description: "jti is missing or too long")
    }
    guard seen.insert(true, under: thumbprint + identifier, for: Self.longestAge + Self.skew * 2) else {
      throw Problem(description: "the proof has been used before")
    }
  }
}

extension DPoPCheck.Problem {
  /// The answer of an OAuth endpoint (RFC 9449 sections 5 and 8).
  var oauthError: OAuthError {
    guard let nonce else { return OAuthError(.invalidDPoPProof, description) }
    return OAuthError(.useDPoPNonce, description, headers: [("dpop-nonce", nonce)])
  }
}
