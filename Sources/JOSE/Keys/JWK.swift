public import PosternCrypto
import PosternJSON
public import PosternSupport

/// A JSON Web Key (RFC 7517): key material, parsed once, with the metadata that restricts its use. Immutable.
public final class JWK: Sendable {
  /// The key itself.
  public let material: KeyMaterial
  /// `kid`.
  public let keyID: String?
  /// `alg`: the one algorithm the key is meant for.
  public let algorithm: String?
  /// `use`: `sig`, `enc`, or an unregistered value.
  public let use: String?
  /// `key_ops`.
  public let operations: [String]?
  /// The certificates of `x5c`, leaf first; the leaf has this key.
  public let certificates: [Certificate]
  /// The thumbprint of RFC 7638 with SHA-256, base64url; nil for a symmetric key, where it would be a hash of the
  /// secret.
  public let thumbprint: String?

  /// A key with its metadata. `alg`, `use` and `key_ops` are not checked here, but in `JWK(json:)`.
  public init(
    _ material: KeyMaterial, keyID: String? = nil, algorithm: String? = nil, use: String? = nil,
    operations: [String]? = nil, certificates: [Certificate] = []
  ) {
    self.material = material
    self.keyID = keyID
    self.algorithm = algorithm
    self.use = use
    self.operations = operations
    self.certificates = certificates
    thumbprint = Self.thumbprint(of: material)
  }

  /// The `kty`.
  public var keyType: KeyType { material.keyType }

  /// The same key with another `kid`.
  public func identified(by keyID: String?) -> JWK {
    JWK(
      material, keyID: keyID, algorithm: algorithm, use: use, operations: operations, certificates: certificates)
  }

  /// The public half with the same metadata, `key_ops` left out because they name the private operations; nil for a
  /// symmetric key.
  public var publicKey: JWK? {
    material.publicMaterial.map {
      JWK($0, keyID: keyID, algorithm: algorithm, use: use, certificates: certificates)
    }
  }

  /// `x5t#S256` (RFC 7517 section 4.9): the hash of its first certificate, base64url; nil without one.
  public var certificateThumbprint: String? {
    certificates.first.map { Base64URL.string($0.thumbprint(.sha256)) }
  }

  private static func thumbprint(of material: KeyMaterial) -> String? {
    guard material.keyType != .oct else { return nil }
    let members = JSONObject(material.requiredMembers(revealingSymmetric: false))
    return Base64URL.string(HashFunction.sha256.hash(JSONWriter().write(.object(members))))
  }
}

extension JWK: ConciseStringConvertible {
  /// Type, `kid` and thumbprint: never key material.
  public var description: String {
    "JWK(\(keyType.rawValue), kid: \(keyID.map(Concise.name) ?? "none"), thumbprint: \(thumbprint ?? "none"))"
  }
}

/// The purpose of a key: a registered `use` value and the `key_ops` values that belong to it (RFC 7517 sections 4.2 and
/// 4.3).
enum KeyPurpose: Sendable {
  case signature
  case encryption

  var use: String {
    switch self {
    case .signature: "sig"
    case .encryption: "enc"
    }
  }

  var operations: [String] {
    switch self {
    case .signature: ["sign", "verify"]
    case .encryption: ["encrypt", "decrypt", "wrapKey", "unwrapKey", "deriveKey", "deriveBits"]
    }
  }
}

extension JWK {
  /// Whether `use` and `key_ops`, where present, permit one of the operations in `needed`.
  func permits(_ needed: [String], for purpose: KeyPurpose) -> Bool {
    (use?.hasSameBytes(as: purpose.use) ?? true) && (operations?.contains { needed.contains(bytesOf: $0) } ?? true)
  }

  /// The error for a key of less than `minimum` bits, for the algorithm `name`; nil when it is large enough.
  func weakness(below minimum: Int, for name: String) -> JOSEError? {
    let bits = material.bitCount
    guard bits < minimum else { return nil }
    return JOSEError(.weakKey, "\(name) needs a key of at least \(minimum) bits, this one has \(bits)")
  }
}

extension JWK {
  /// Whether a verification takes no longer than with the keys that issuers publish: an RSA modulus of at most 4096
  /// bits with an exponent of at most 32.
  package var isOfUsualSize: Bool {
    switch material {
    case .rsaPublic(let key): key.bitCount <= 4096 && key.exponent.count <= 4
    case .ecPublic, .edwardsPublic, .montgomeryPublic: true
    case .rsaPrivate, .ecPrivate, .edwardsPrivate, .montgomeryPrivate, .symmetric: false
    }
  }
}

extension [String] {
  /// Whether an element has the same bytes as `text`; `contains` would also find canonically equivalent strings.
  func contains(bytesOf text: String) -> Bool { contains { $0.hasSameBytes(as: text) } }
}

extension JWK {
  /// The algorithm for signing when only the key is configured: its `alg`, else the usual one of its type and curve
  /// (RS256, ES256, ES384, ES512, ES256K, EdDSA, HS256). Nil for a key that cannot sign.
  public var defaultSignatureAlgorithm: SignatureAlgorithm? {
    if let algorithm { return SignatureAlgorithm(name: algorithm) }
    return SignatureAlgorithm.defaults.first { $0.mismatch(with: self) == nil }
  }
}

extension SignatureAlgorithm {
  fileprivate static let defaults = [rs256, es256, es384, es512, es256k, edDSA, hs256]
}
