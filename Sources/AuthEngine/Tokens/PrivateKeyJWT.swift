import Crypto
public import JOSE
import JSON
public import Support

/// `private_key_jwt` (RFC 7523 section 2.2, OpenID Connect Core section 9): a short-lived assertion signed with the client's key.
///
/// Its audience is the issuer, whatever endpoint it goes to, so that no other server can use it.
public struct PrivateKeyJWT: ClientAuthentication {
  static let lifetime = Duration.seconds(60)
  static let assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

  private let key: JWK
  private let algorithm: SignatureAlgorithm
  private let clock: any EngineClock

  /// Authentication by `key`, with the algorithm that belongs to it; `invalid_key` when it cannot sign.
  public init(key: JWK, clock: some EngineClock) throws(JOSEError) {
    guard let algorithm = key.defaultSignatureAlgorithm, !algorithm.isSymmetric, key.material.isSecret else {
      throw JOSEError(.invalidKey, "the client's key cannot sign")
    }
    self.key = key
    self.algorithm = algorithm
    self.clock = clock
  }

  /// `private_key_jwt`.
  public var method: String { "private_key_jwt" }

  /// Adds `client_assertion`, made for this one request.
  public func authenticate(_ request: inout TokenEndpointRequest, as clientID: String) throws(TokenError) {
    let now = clock.wallNow
    let claims: JSONObject = [
      "iss": .string(clientID), "sub": .string(clientID), "aud": .string(request.issuer),
      "jti": .string(Base64URL.string(SecureRandom.bytes(16))), "iat": .integer(now.secondsSinceEpoch),
      "exp": .integer((now + Self.lifetime).secondsSinceEpoch),
    ]
    do throws(JOSEError) {
      let assertion = try CompactJWS.sign(claims: claims, with: key, algorithm: algorithm)
      request.form.append((name: "client_id", value: clientID))
      request.form.append((name: "client_assertion_type", value: Self.assertionType))
      request.form.append((name: "client_assertion", value: assertion))
    } catch {
      throw TokenError(.notPossible, "the client assertion cannot be made: \(error.message)")
    }
  }
}

extension PrivateKeyJWT: Hashable {
  /// Same key.
  public static func == (left: PrivateKeyJWT, right: PrivateKeyJWT) -> Bool {
    left.key.thumbprint == right.key.thumbprint && left.key.keyID == right.key.keyID
  }

  /// Feeds the key's thumbprint.
  public func hash(into hasher: inout Hasher) { hasher.combine(key.thumbprint) }
}
