import Crypto
import JOSE
import JSON
import Support

/// The provider's signing keys: an RSA and an EC pair at a time, and the pairs before them as long as they stay published.
final class SigningKeys: Sendable {
  /// The keys of one rotation.
  private struct Generation: Sendable {
    /// Signs access tokens with RS256, which every client knows.
    let rsa: JWK
    /// Published beside it, so that clients have to choose.
    let ec: JWK

    init() throws(CryptoError) {
      rsa = Self.named(try JWK.generateRSA(bitCount: 2048), algorithm: .rs256)
      ec = Self.named(try JWK.generateEC(.p256), algorithm: .es256)
    }

    /// The key under its thumbprint (RFC 7638), for signatures only.
    private static func named(_ key: JWK, algorithm: SignatureAlgorithm) -> JWK {
      JWK(key.material, keyID: key.thumbprint, algorithm: algorithm.name, use: "sig")
    }
  }

  /// How many generations stay published.
  private static let generationLimit = 4

  private let generations: Locked<[Generation]>

  /// A first pair of keys.
  init() throws(CryptoError) {
    generations = Locked([try Generation()])
  }

  /// The same keys as `other` has now, rotated independently from here on.
  init(copying other: SigningKeys) {
    generations = Locked(other.generations.withLock { $0 })
  }

  /// Makes a new pair, with which everything is signed from now on.
  func rotate(keepingOld: Bool) throws(CryptoError) {
    let new = try Generation()
    generations.withLock { generations in
      generations = [new] + (keepingOld ? Array(generations.prefix(Self.generationLimit - 1)) : [])
    }
  }

  /// The `kid`s of the published keys, the newest first.
  var identifiers: [String] { published.compactMap(\.keyID) }

  /// The published keys (RFC 7517 section 5).
  var publicSet: JSONValue { .object(JWKSet(published).publicJSON()) }

  /// A JWS over `claims` with the given `typ`.
  func sign(_ claims: JSONObject, type: String) throws -> String {
    let key = generations.withLock { $0[0].rsa }
    return try CompactJWS.sign(claims: claims, with: key, algorithm: .rs256, header: ["typ": .string(type)])
  }

  /// The claims of a JWS of the given `typ` that one of the published keys has signed; nil for anything else.
  func verify(_ text: String, type: String) -> JSONObject? {
    guard let token = try? CompactJWS(text), token.header.type == type,
      let algorithm = try? token.algorithm(allowed: [.rs256, .es256]),
      let key = try? JWKSet(published.compactMap(\.publicKey)).verificationKey(for: token.header, algorithm: algorithm),
      (try? token.verifiedPayload(with: key, algorithm: algorithm)) != nil
    else { return nil }
    return try? token.unverifiedClaims()
  }

  private var published: [JWK] { generations.withLock { $0.flatMap { [$0.rsa, $0.ec] } } }
}
