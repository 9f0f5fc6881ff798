import JOSE
import PosternCrypto
import Testing

/// Keys made once for all tests: RSA keys take a while.
enum TestKeys {
  static let rsa = made { try JWK.generateRSA(keyID: "rsa") }
  static let otherRSA = made { try JWK.generateRSA(keyID: "other-rsa") }
  static let weakRSA = made { try JWK.generateRSA(bitCount: 1024, keyID: "weak") }
  static let p256 = made { try JWK.generateEC(.p256, keyID: "p256") }
  static let p384 = made { try JWK.generateEC(.p384, keyID: "p384") }
  static let p521 = made { try JWK.generateEC(.p521, keyID: "p521") }
  static let secp256k1 = made { try JWK.generateEC(.secp256k1, keyID: "k1") }
  static let ed25519 = made { try JWK.generateEdwards(.ed25519, keyID: "ed25519") }
  static let ed448 = made { try JWK.generateEdwards(.ed448, keyID: "ed448") }
  static let x25519 = made { try JWK(.montgomeryPrivate(.generate(.x25519)), keyID: "x25519") }
  static let secret = JWK.symmetric(SecureRandom.bytes(64), keyID: "secret")

  static func symmetric(_ byteCount: Int) -> JWK { .symmetric(SecureRandom.bytes(byteCount), keyID: "secret") }

  /// A key that can sign under `algorithm`.
  static func signing(_ algorithm: SignatureAlgorithm) -> JWK {
    switch algorithm {
    case .es256: p256
    case .es384: p384
    case .es512: p521
    case .es256k: secp256k1
    case .ed448: ed448
    case .edDSA, .ed25519: ed25519
    case .hs256, .hs384, .hs512: secret
    default: rsa
    }
  }

  private static func made(_ make: () throws -> JWK) -> JWK {
    do { return try make() } catch { preconditionFailure("key generation: \(error)") }
  }
}
