import PosternCrypto
import PosternSupport

/// The hash claims of OpenID Connect (`at_hash`, `c_hash`, `s_hash`): the left half of a hash of the value, base64url
/// (Core section 3.1.3.6, 3.3.2.11; FAPI 1.0 Advanced for `s_hash`).
public enum TokenHash {
  /// The hash of `value` in a token signed with `algorithm` by `key`.
  ///
  /// Uses the algorithm's hash function; SHA-512 for Ed25519 and SHAKE256 with 114 bytes for Ed448. `key_alg_mismatch`
  /// for a key of another algorithm: the check fails closed.
  public static func claim(
    for value: String, algorithm: SignatureAlgorithm, key: JWK
  ) throws(JOSEError) -> String {
    String(decoding: try text(for: value, algorithm: algorithm, key: key), as: UTF8.self)
  }

  /// Whether `claim` is the hash of `value` in a token signed with `algorithm` by `key`. Compared in constant time.
  public static func matches(
    _ claim: String, value: String, algorithm: SignatureAlgorithm, key: JWK
  ) throws(JOSEError) -> Bool {
    ConstantTime.equals(Array(claim.utf8), try text(for: value, algorithm: algorithm, key: key))
  }

  private static func text(
    for value: String, algorithm: SignatureAlgorithm, key: JWK
  ) throws(JOSEError) -> [UInt8] {
    let value = Array(value.utf8)
    let hash: [UInt8]
    switch (algorithm.scheme, key.material.curve) {
    case (.rsa(let scheme), nil): hash = scheme.hashFunction.hash(value)
    case (.hmac(let function), nil): hash = function.hash(value)
    case (.ecdsa(_, let function), .weierstrass?): hash = function.hash(value)
    case (.edwards, .edwards(.ed25519)?): hash = HashFunction.sha512.hash(value)
    case (.edwards, .edwards(.ed448)?): hash = SHAKE256.hash(value.span.bytes, byteCount: 114)
    default: throw JOSEError(.keyAlgMismatch, "the key is not one of \(algorithm.name)")
    }
    return Base64URL.encode(Array(hash[..<(hash.count / 2)]))
  }
}
