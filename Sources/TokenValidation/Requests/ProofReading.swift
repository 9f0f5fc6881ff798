import HTTPMessages
import JOSE
import PosternCrypto
import PosternJSON
import PosternSupport

/// The times and the nonces that an issuer's proofs are judged by.
package struct ProofRules: Sendable, Equatable {
  /// The largest `past` of any rules.
  package static let longestPast = Duration.seconds(300)

  /// The age of a proof, at most; `longestPast` at most.
  package let past: Duration
  /// How far ahead of this machine's clock a proof may be made.
  package var future: Duration
  /// Whether a proof must have a nonce of this process or another one with the same store.
  package var requiresNonce: Bool
  /// The length of an epoch: a nonce is good in its own and in the next one.
  package var nonceLife: Duration

  package init(
    past: Duration = .seconds(60), future: Duration = .seconds(5), requiresNonce: Bool = false,
    nonceLife: Duration = .seconds(300)
  ) {
    self.past = min(past, Self.longestPast)
    self.future = future
    self.requiresNonce = requiresNonce
    self.nonceLife = nonceLife
  }
}

/// The fault of a proof.
struct ProofFault: Error, Sendable, Equatable {
  /// The part that is at fault: a claim, a header parameter, `field`, `form` or `signature`.
  let part: String
  let message: String

  init(_ part: String, _ message: String) {
    self.part = part
    self.message = message
  }
}

/// A DPoP proof (RFC 9449 section 4.2) that has been parsed. Its checks are functions without state, in the order of
/// their cost: that of the signature comes last.
struct ProofReading: Sendable {
  /// Larger ones are not looked at.
  static let maxBytes = 8 << 10
  /// The accepted algorithms: asymmetric, and none that few clients have.
  static let algorithms: [SignatureAlgorithm] = [.es256, .es384, .ed25519, .ps256, .rs256]
  /// Their names, as challenges list them (RFC 9449 section 7.1).
  static let algorithmNames = "ES256 ES384 EdDSA Ed25519 PS256 RS256"

  private let jws: CompactJWS
  private let algorithm: SignatureAlgorithm
  private let claims: JSONObject
  let jti: String
  /// When it was made.
  let issuedAt: Timestamp

  /// Reads the one `DPoP` field: rules 1 to 5 of RFC 9449 section 4.3, and the private members of rule 7.
  init(_ values: [String]) throws(ProofFault) {
    guard values.count == 1, let text = values.first else { throw ProofFault("field", "DPoP is there more than once") }
    // Fronts join two lines with a comma, which no proof has.
    guard !text.utf8.contains(UInt8(ascii: ",")) else { throw ProofFault("field", "DPoP has more than one proof") }
    do throws(JOSEError) {
      jws = try CompactJWS(text, limits: TokenLimits(maxBytes: Self.maxBytes, maxDepth: 8))
      claims = try jws.unverifiedClaims()
      algorithm = try jws.algorithm(allowed: Self.algorithms)
    } catch {
      throw ProofFault(error.claim == "alg" ? "alg" : "form", error.message)
    }
    // RFC 7515 section 4.1.9 lets `application/` be left out; RFC 9449 section 4.2 has the short form only.
    guard jws.header.type?.hasSameASCIILetters(as: "dpop+jwt") == true else {
      throw ProofFault("typ", "typ is not dpop+jwt")
    }
    guard let key = jws.header.parameters["jwk"]?.objectValue else { throw ProofFault("jwk", "jwk is no key") }
    guard !["d", "p", "q", "dp", "dq", "qi", "oth", "k"].contains(where: { key[$0] != nil }) else {
      throw ProofFault("jwk", "jwk has private members")
    }
    guard let jti = claims["jti"]?.stringValue, !jti.isEmpty else { throw ProofFault("jti", "jti is missing") }
    self.jti = jti
    issuedAt = try Self.time(claims["iat"])
  }

  /// `iat`: a number that is not negative.
  private static func time(_ value: JSONValue?) throws(ProofFault) -> Timestamp {
    switch value {
    case .integer(let seconds)? where seconds >= 0: return Timestamp(secondsSinceEpoch: seconds)
    case .real(let seconds)? where seconds >= 0:
      if let milliseconds = Int64(exactly: (seconds * 1000).rounded(.down)) {
        return Timestamp(millisecondsSinceEpoch: milliseconds)
      }
    default: break
    }
    throw ProofFault("iat", "iat is missing or no time")
  }

  /// Rules 8 and 9: the proof is for this method and URL. Query and fragment of `htu` do not count.
  func check(method: String, url: HTTPURL) throws(ProofFault) {
    guard claims["htm"]?.stringValue?.hasSameBytes(as: method) == true else {
      throw ProofFault("htm", "the proof is for another method")
    }
    guard let text = claims["htu"]?.stringValue, let target = try? HTTPURL(String(text.prefix(beforeBytes: "?", "#")))
    else {
      throw ProofFault("htu", "htu is missing or no URL")
    }
    guard target == url.withoutQuery else { throw ProofFault("htu", "the proof is for another URL") }
  }

  /// Rule 11: the proof was made at about this time.
  func check(at now: Timestamp, _ rules: ProofRules) throws(ProofFault) {
    guard issuedAt + rules.past >= now else { throw ProofFault("iat", "the proof is too old") }
    guard issuedAt <= now + rules.future else { throw ProofFault("iat", "the proof is of a later time") }
  }

  /// The nonce; nil where there is none, or no string.
  var nonce: String? { claims["nonce"]?.stringValue }

  /// Rule 12, first half: the proof is for this token.
  func check(token: Secret<String>) throws(ProofFault) {
    guard let hash = claims["ath"]?.stringValue.flatMap({ Base64URL.decode($0) }),
      ConstantTime.equals(hash, HashFunction.sha256.hash(Array(token.reveal().utf8)))
    else { throw ProofFault("ath", "the proof is for another token") }
  }

  /// Rules 6 and 7: the proof is signed with the key in it. Returns the key's thumbprint.
  func verifiedThumbprint() throws(ProofFault) -> String {
    do throws(JOSEError) {
      let key = try jws.header.untrustedProofKey()
      guard key.isOfUsualSize, let thumbprint = key.thumbprint else {
        throw JOSEError(.invalidKey, "jwk is of an unusual size", claim: "jwk")
      }
      try jws.verifiedPayload(with: key, algorithm: algorithm)
      return thumbprint
    } catch {
      throw ProofFault(error.code == .badSignature ? "signature" : "jwk", error.message)
    }
  }

  /// The identity of the proof among those of one key (RFC 9449 section 11.1): by `jti` alone one client could use up
  /// another's.
  static func use(of jti: String, by thumbprint: String) -> [UInt8] {
    HashFunction.sha256.hash(Array(thumbprint.utf8) + [0] + Array(jti.utf8))
  }

  /// Until when the record of the proof's use is needed: as long as any rules accept the proof. Another entry, another
  /// sidecar with the same store, or this one after a reload may judge it by a longer `past` than the rules that it was
  /// used by. By the time it was made: one that was made ahead must not outlive its record.
  var recordEnd: Timestamp { issuedAt + ProofRules.longestPast + .seconds(1) }
}
