import JOSE
import PosternCrypto
import PosternJSON
import PosternSupport

/// The provider's signing keys: an RSA, an EC and an Ed25519 pair at a time, and those before them as long as they stay
/// published.
final class SigningKeys: Sendable {
  /// The keys of one rotation.
  private struct Generation: Sendable {
    /// Signs access tokens with RS256, which every client knows, and most ID tokens.
    let rsa: JWK
    /// Signs the ID tokens of clients that are registered for it; published too, so that clients have to choose.
    let ec: JWK
    /// The same with EdDSA.
    let edwards: JWK

    init() throws(CryptoError) {
      rsa = Self.named(try JWK.generateRSA(bitCount: 2048), algorithm: .rs256)
      ec = Self.named(try JWK.generateEC(.p256), algorithm: .es256)
      edwards = Self.named(try JWK.generateEdwards(.ed25519), algorithm: .edDSA)
    }

    var all: [JWK] { [rsa, ec, edwards] }

    /// The key under its thumbprint (RFC 7638), for signatures only.
    private static func named(_ key: JWK, algorithm: SignatureAlgorithm) -> JWK {
      JWK(key.material, keyID: key.thumbprint, algorithm: algorithm.name, use: "sig")
    }
  }

  /// How many generations stay published.
  private static let generationLimit = 4
  /// The provider's signing keys.
  static let algorithms: [SignatureAlgorithm] = [.rs256, .es256, .edDSA]

  private let generations: Locked<[Generation]>

  /// The first keys.
  init() throws(CryptoError) {
    generations = Locked([try Generation()])
  }

  /// The same keys as `other` has now, rotated independently from here on.
  init(copying other: SigningKeys) {
    generations = Locked(other.generations.withLock { $0 })
  }

  /// Makes new keys, with which everything is signed from now on.
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

  /// The current key of `algorithm`, one of `algorithms`.
  func key(for algorithm: SignatureAlgorithm) -> JWK {
    let current = generations.withLock { $0[0] }
    return current.all.first { $0.algorithm == algorithm.name } ?? current.rsa
  }

  /// A JWS over `claims` with the given `typ`.
  func sign(_ claims: JSONObject, type: String, algorithm: SignatureAlgorithm = .rs256) throws -> String {
    try CompactJWS.sign(
      claims: claims, with: key(for: algorithm), algorithm: algorithm, header: ["typ": .string(type)])
  }

  /// The claims of a JWS of the given `typ` that one of the published keys has signed; nil for anything else.
  func verify(_ text: String, type: String) -> JSONObject? {
    guard let token = try? CompactJWS(text), token.header.type == type,
      let algorithm = try? token.algorithm(allowed: Self.algorithms),
      let key = try? JWKSet(published.compactMap(\.publicKey)).verificationKey(for: token.header, algorithm: algorithm),
      (try? token.verifiedPayload(with: key, algorithm: algorithm)) != nil
    else { return nil }
    return try? token.unverifiedClaims()
  }

  private var published: [JWK] { generations.withLock { $0.flatMap(\.all) } }
}
