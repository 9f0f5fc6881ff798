public import PosternJSON
import PosternSupport

extension JWK {
  /// Longer chains are not looked at.
  static let maximumCertificateCount = 10

  /// The key that a JSON object describes (RFC 7517 section 4). Members that are not understood are ignored, as the RFC
  /// asks.
  ///
  /// `alg_not_supported` for an unknown `kty` or `crv`, `weak_key` for an exponent that cannot be secure, `invalid_key`
  /// for everything else that is malformed or contradicts itself: an `x5c` whose leaf holds another key included.
  public convenience init(json members: JSONObject) throws(JOSEError) {
    let material = try KeyMaterial(members: members)
    let use = try Self.optionalString("use", in: members)
    let operations = try Self.operations(in: members)
    try Self.checkConsistency(use: use, operations: operations)
    self.init(
      material,
      keyID: try Self.optionalString("kid", in: members),
      algorithm: try Self.optionalString("alg", in: members),
      use: use,
      operations: operations,
      certificates: try Self.certificates(in: members, of: material))
  }

  private static func optionalString(_ name: String, in members: JSONObject) throws(JOSEError) -> String? {
    guard let value = members[name] else { return nil }
    guard let text = value.stringValue else { throw JOSEError(.invalidKey, "\(name) is not a string", claim: name) }
    return text
  }

  private static func operations(in members: JSONObject) throws(JOSEError) -> [String]? {
    guard let value = members["key_ops"] else { return nil }
    guard let elements = value.arrayValue, elements.count <= 16 else {
      throw JOSEError(.invalidKey, "key_ops is not an array of a few strings", claim: "key_ops")
    }
    let names = elements.compactMap(\.stringValue)
    guard names.count == elements.count, Set(names.map { Array($0.utf8) }).count == names.count else {
      throw JOSEError(.invalidKey, "key_ops has a repeated or non-string element", claim: "key_ops")
    }
    return names
  }

  /// RFC 7517 section 4.3: `use` and `key_ops` must agree, and a key is for signatures or for encryption, never both
  /// (CVE-2023-51774).
  private static func checkConsistency(use: String?, operations: [String]?) throws(JOSEError) {
    guard let operations else { return }
    let signs = operations.contains { KeyPurpose.signature.operations.contains(bytesOf: $0) }
    let encrypts = operations.contains { KeyPurpose.encryption.operations.contains(bytesOf: $0) }
    guard !(signs && encrypts) else {
      throw JOSEError(.invalidKey, "key_ops mixes signing and encryption", claim: "key_ops")
    }
    guard !(use == KeyPurpose.signature.use && encrypts), !(use == KeyPurpose.encryption.use && signs) else {
      throw JOSEError(.invalidKey, "use and key_ops contradict each other", claim: "key_ops")
    }
  }
}
