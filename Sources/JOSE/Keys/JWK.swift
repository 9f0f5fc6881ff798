public import PosternCrypto
import PosternJSON
import PosternSupport

/// A JSON Web Key (RFC 7517): key material, parsed once, with the metadata that restricts its use. Immutable, shared
/// freely.
public final class JWK: Sendable {
  /// The key itself.
  public let material: KeyMaterial
  /// `kid`.
  public let keyID: String?
  /// `alg`: the one algorithm the key is meant for.
  public let algorithm: String?
  /// `use`: `sig` or `enc`, or somebody's own value.
  public let use: String?
  /// `key_ops`.
  public let operations: [String]?
  /// The chain of `x5c`, leaf first, already compared with the key.
  public let certificates: [Certificate]
  /// The thumbprint of RFC 7638 with SHA-256, base64url. Of a symmetric key it would be a hash of the secret: nil.
  public let thumbprint: String?

  /// A key with its metadata. `alg`, `use` and `key_ops` are taken as they are: `JWK(json:)` is where they are checked.
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

  private static func thumbprint(of material: KeyMaterial) -> String? {
    guard material.keyType != .oct else { return nil }
    let members = JSONObject(material.requiredMembers(revealingSymmetric: false))
    return Base64URL.string(HashFunction.sha256.hash(JSONWriter().write(.object(members))))
  }
}

extension JWK: CustomStringConvertible, CustomReflectable {
  /// Type, `kid` and thumbprint: never key material.
  public var description: String {
    "JWK(\(keyType.rawValue), kid: \(keyID ?? "none"), thumbprint: \(thumbprint ?? "none"))"
  }

  /// A mirror without children, so that `dump` shows no key material.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
