import PosternCrypto
import PosternSupport

extension SignatureAlgorithm {
  /// RSASSA-PKCS1-v1_5 with SHA-256.
  public static let rs256 = rsa("RS256", .pkcs1v15(.sha256))
  /// RSASSA-PKCS1-v1_5 with SHA-384.
  public static let rs384 = rsa("RS384", .pkcs1v15(.sha384))
  /// RSASSA-PKCS1-v1_5 with SHA-512.
  public static let rs512 = rsa("RS512", .pkcs1v15(.sha512))
  /// RSASSA-PSS with SHA-256.
  public static let ps256 = rsa("PS256", .pss(.sha256))
  /// RSASSA-PSS with SHA-384.
  public static let ps384 = rsa("PS384", .pss(.sha384))
  /// RSASSA-PSS with SHA-512.
  public static let ps512 = rsa("PS512", .pss(.sha512))
  /// ECDSA on P-256 with SHA-256.
  public static let es256 = ecdsa("ES256", .p256, .sha256)
  /// ECDSA on P-384 with SHA-384.
  public static let es384 = ecdsa("ES384", .p384, .sha384)
  /// ECDSA on P-521 with SHA-512.
  public static let es512 = ecdsa("ES512", .p521, .sha512)
  /// ECDSA on secp256k1 with SHA-256 (RFC 8812 section 3.2).
  public static let es256k = ecdsa("ES256K", .secp256k1, .sha256)
  /// EdDSA on the curve of the key (RFC 8037); deprecated by RFC 9864 in favour of the two below.
  public static let edDSA = edwards("EdDSA", [.ed25519, .ed448])
  /// EdDSA on edwards25519 (RFC 9864).
  public static let ed25519 = edwards("Ed25519", [.ed25519])
  /// EdDSA on edwards448 (RFC 9864).
  public static let ed448 = edwards("Ed448", [.ed448])
  /// HMAC with SHA-256.
  public static let hs256 = hmac("HS256", .sha256)
  /// HMAC with SHA-384.
  public static let hs384 = hmac("HS384", .sha384)
  /// HMAC with SHA-512.
  public static let hs512 = hmac("HS512", .sha512)

  /// Every algorithm whose verification needs a public key only.
  public static let asymmetric: [SignatureAlgorithm] = [
    rs256, rs384, rs512, ps256, ps384, ps512, es256, es384, es512, es256k, edDSA, ed25519, ed448,
  ]

  /// Every algorithm whose verification needs the signer's secret.
  public static let symmetric: [SignatureAlgorithm] = [hs256, hs384, hs512]

  /// The whole table. `none` is not in it and never will be.
  public static let all = asymmetric + symmetric

  /// The row of `name`, compared byte by byte; nil for a name that is not in the table.
  public init?(name: String) {
    guard let row = Self.all.first(where: { $0.name.hasSameBytes(as: name) }) else { return nil }
    self = row
  }

  /// Registered names that this build knows but cannot compute: ML-DSA (RFC 9964) needs OpenSSL 3.5.
  static let registeredButUnsupported = ["ML-DSA-44", "ML-DSA-65", "ML-DSA-87"]

  private static func rsa(_ name: String, _ scheme: RSASignatureScheme) -> SignatureAlgorithm {
    SignatureAlgorithm(name: name, keyType: .rsa, minimumKeyBitCount: 2048, scheme: .rsa(scheme))
  }

  private static func ecdsa(_ name: String, _ curve: ECCurve, _ hash: HashFunction) -> SignatureAlgorithm {
    SignatureAlgorithm(name: name, keyType: .ec, minimumKeyBitCount: 256, scheme: .ecdsa(curve, hash))
  }

  private static func edwards(_ name: String, _ curves: Set<EdwardsCurve>) -> SignatureAlgorithm {
    SignatureAlgorithm(name: name, keyType: .okp, minimumKeyBitCount: 255, scheme: .edwards(curves))
  }

  private static func hmac(_ name: String, _ hash: HashFunction) -> SignatureAlgorithm {
    SignatureAlgorithm(name: name, keyType: .oct, minimumKeyBitCount: hash.byteCount * 8, scheme: .hmac(hash))
  }
}
