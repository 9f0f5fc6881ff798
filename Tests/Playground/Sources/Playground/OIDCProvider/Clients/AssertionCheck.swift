import JOSE
import PosternJSON
import PosternSupport

/// JWT assertions of registered clients (RFC 7523 section 3), each good once.
struct AssertionCheck: Sendable {
  /// The reason to reject an assertion.
  struct Problem: Error {
    let description: String
  }

  /// The accepted values of `aud`: issuer, token endpoint, endpoint of pushed requests (RFC 9126 section 2).
  private let audiences: [String]
  private let clients: ClientDirectory
  private let clock: any EngineClock
  private let seen: ExpiringStore<Bool>

  /// The furthest end of an assertion.
  private static let longestLife = Duration.seconds(600)
  /// How far apart two clocks may be.
  private static let skew = Duration.seconds(10)
  /// RFC 8725 section 3.2: no HMAC, nothing unusual.
  static let algorithms: [SignatureAlgorithm] = [
    .rs256, .rs384, .rs512, .ps256, .ps384, .ps512, .es256, .es384, .es512, .edDSA, .ed25519,
  ]

  /// A check of assertions meant for the provider `issuer`.
  init(issuer: String, clients: ClientDirectory, clock: any EngineClock) {
    audiences = [issuer, issuer + "/token", issuer + "/par"]
    self.clients = clients
    self.clock = clock
    seen = ExpiringStore(limit: Limits.replayEntries, clock: clock)
  }

  /// The client that an assertion claims, not yet verified.
  static func claimedIssuer(of text: String) -> String? {
    (try? CompactJWS(text).unverifiedClaims())?["iss"]?.stringValue
  }

  /// The claims of an assertion that a registered client has signed, is meant for this provider, and has not been seen
  /// before. Its `typ` may say that it is a JWT, or that it is one of `type`.
  func claims(of text: String, type: String) throws(Problem) -> JWTClaims {
    guard let token = try? CompactJWS(text), let members = try? token.unverifiedClaims(),
      let claims = try? JWTClaims(members), let issuer = claims.string("iss")
    else { throw Problem(description: "the assertion is not a well-formed JWT") }
    guard (try? token.header.requireType(["JWT", type], mayBeAbsent: true)) != nil else {
      throw Problem(description: "the assertion is another kind of token")
    }
    guard (try? token.header.rejectEmbeddedKeys()) != nil,
      let algorithm = try? token.algorithm(allowed: Self.algorithms),
      let key = try? clients.keys(of: issuer).verificationKey(for: token.header, algorithm: algorithm),
      (try? token.verifiedPayload(with: key, algorithm: algorithm)) != nil
    else { throw Problem(description: "the assertion is not signed by a registered key") }
    try judge(claims, of: issuer)
    return claims
  }

  private func judge(_ claims: JWTClaims, of issuer: String) throws(Problem) {
    let now = clock.wallNow
    guard let audience = claims.audiences, audience.count == 1, audiences.contains(audience[0]) else {
      throw Problem(description: "aud must be the issuer or the token endpoint, and nothing else")
    }
    guard claims.string("sub")?.isEmpty == false else { throw Problem(description: "sub is missing") }
    guard let end = claims.expiresAt else { throw Problem(description: "exp is missing") }
    guard now < end else { throw Problem(description: "the assertion has expired") }
    guard end - now <= Self.longestLife else { throw Problem(description: "exp is too far ahead") }
    for start in [claims.notBefore, claims.issuedAt].compactMap({ $0 }) where start > now + Self.skew {
      throw Problem(description: "the assertion begins in the future")
    }
    guard let identifier = claims.string("jti"), (1...256).contains(identifier.utf8.count) else {
      throw Problem(description: "jti is missing or too long")
    }
    guard seen.insert(true, under: "\(issuer.utf8.count) \(issuer) \(identifier)", for: end - now) else {
      throw Problem(description: "the assertion has been used before")
    }
  }
}
