public import JOSE
import PosternCrypto
import PosternJSON
public import PosternSupport

/// Signs short-lived JWTs in the client's name: what it says of itself, and of others (RFC 7523 section 3).
public struct AssertionSigner: Sendable {
  static let lifetime = Duration.seconds(60)

  private let key: JWK
  private let algorithm: SignatureAlgorithm
  private let clock: any EngineClock

  /// A signer with `key`, and the algorithm that belongs to it; `invalid_key` when it cannot sign.
  public init(key: JWK, clock: some EngineClock) throws(JOSEError) {
    guard let algorithm = key.defaultSignatureAlgorithm, !algorithm.isSymmetric, key.material.isSecret else {
      throw JOSEError(.invalidKey, "the client's key cannot sign")
    }
    self.key = key
    self.algorithm = algorithm
    self.clock = clock
  }

  /// An assertion of `clientID` about `subject`, good once and for a minute, for `audience` alone.
  package func assertion(by clientID: String, about subject: String, for audience: String) throws(TokenError) -> String
  {
    let now = clock.wallNow
    let claims: JSONObject = [
      "iss": .string(clientID), "sub": .string(subject), "aud": .string(audience),
      "jti": .string(Base64URL.string(SecureRandom.bytes(16))), "iat": .integer(now.secondsSinceEpoch),
      "exp": .integer((now + Self.lifetime).secondsSinceEpoch),
    ]
    do throws(JOSEError) {
      return try CompactJWS.sign(claims: claims, with: key, algorithm: algorithm)
    } catch {
      throw TokenError(.notPossible, "the client's assertion cannot be made: \(error.message)")
    }
  }
}

extension AssertionSigner: Hashable {
  /// Same key.
  public static func == (left: AssertionSigner, right: AssertionSigner) -> Bool {
    left.key.thumbprint == right.key.thumbprint && left.key.keyID == right.key.keyID
  }

  /// Feeds the key's thumbprint.
  public func hash(into hasher: inout Hasher) { hasher.combine(key.thumbprint) }
}
