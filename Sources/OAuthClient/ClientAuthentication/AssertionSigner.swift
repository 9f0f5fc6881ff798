public import JOSE
import PosternCrypto
import PosternJSON
public import PosternSupport

/// Signs short-lived JWTs in the client's name, about itself or about a user (RFC 7523 section 3).
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

  /// Returns an assertion of `clientID` about `subject` for `audience` alone, valid for one use within a minute.
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
  /// Whether both have the same key.
  public static func == (left: AssertionSigner, right: AssertionSigner) -> Bool {
    left.key.thumbprint == right.key.thumbprint && left.key.keyID == right.key.keyID
  }

  /// Hashes the key's thumbprint.
  public func hash(into hasher: inout Hasher) { hasher.combine(key.thumbprint) }
}

/// `private_key_jwt` (RFC 7523 section 2.2, OpenID Connect Core section 9): a short-lived assertion signed with the
/// client's key.
///
/// Its audience is the issuer, whatever endpoint it goes to, so that no other server can use it.
public struct PrivateKeyJWT: ClientAuthentication, Hashable {
  static let lifetime = AssertionSigner.lifetime
  static let assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

  private let signer: AssertionSigner

  /// Authentication by `key`, with the algorithm that belongs to it; `invalid_key` when it cannot sign.
  public init(key: JWK, clock: some EngineClock) throws(JOSEError) {
    signer = try AssertionSigner(key: key, clock: clock)
  }

  /// `private_key_jwt`.
  public var method: String { "private_key_jwt" }

  /// Adds `client_assertion`, made for this one request.
  public func authenticate(_ request: inout TokenEndpointRequest, as clientID: String) throws(TokenError) {
    let assertion = try signer.assertion(by: clientID, about: clientID, for: request.issuer)
    request.form.append((name: "client_id", value: clientID))
    request.form.append((name: "client_assertion_type", value: Self.assertionType))
    request.form.append((name: "client_assertion", value: assertion))
  }
}

extension AssertionSigner: ConciseStringConvertible {
  /// Key and algorithm: never key material.
  public var description: String { "signer of assertions, \(algorithm), \(key)" }
}

extension PrivateKeyJWT: ConciseStringConvertible {
  /// The method.
  public var description: String { method }
}
