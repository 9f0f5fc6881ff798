import PosternCrypto
import PosternJSON
import PosternSupport

extension JWK {
  /// The chain in `x5c` (RFC 7517 section 4.7), with the thumbprints of sections 4.8 and 4.9 compared where both are
  /// there. The leaf must hold the very key of the JWK. Who signed the certificates is nobody's business here.
  static func certificates(in members: JSONObject, of material: KeyMaterial) throws(JOSEError) -> [Certificate] {
    let sha1 = try thumbprint("x5t", .insecureSHA1, in: members)
    let sha256 = try thumbprint("x5t#S256", .sha256, in: members)
    guard let chain = members["x5c"] else { return [] }
    guard let elements = chain.arrayValue, (1...maximumCertificateCount).contains(elements.count) else {
      throw JOSEError(.invalidKey, "x5c is not an array of a few certificates", claim: "x5c")
    }
    var certificates: [Certificate] = []
    for element in elements {
      guard let bytes = element.stringValue.flatMap({ Base64.decode($0) }),
        let certificate = try? Certificate(der: bytes)
      else { throw JOSEError(.invalidKey, "x5c holds something that is no certificate", claim: "x5c") }
      certificates.append(certificate)
    }
    let leaf = certificates[0]
    guard let key = leaf.publicKey, KeyMaterial(key).isSamePublicKey(as: material) else {
      throw JOSEError(.invalidKey, "the certificate in x5c holds another key", claim: "x5c")
    }
    guard sha1 == nil || sha1 == leaf.thumbprint(.insecureSHA1) else {
      throw JOSEError(.invalidKey, "x5t is not the thumbprint of the certificate", claim: "x5t")
    }
    guard sha256 == nil || sha256 == leaf.thumbprint(.sha256) else {
      throw JOSEError(.invalidKey, "x5t#S256 is not the thumbprint of the certificate", claim: "x5t#S256")
    }
    return certificates
  }

  private static func thumbprint(
    _ name: String, _ hash: HashFunction, in members: JSONObject
  ) throws(JOSEError) -> [UInt8]? {
    guard let value = members[name] else { return nil }
    guard let bytes = value.stringValue.flatMap({ Base64URL.decode($0) }), bytes.count == hash.byteCount else {
      throw JOSEError(.invalidKey, "\(name) is not a thumbprint", claim: name)
    }
    return bytes
  }
}

extension KeyMaterial {
  /// The material of a key that came out of a certificate.
  init(_ key: ImportedPublicKey) {
    switch key {
    case .rsa(let key): self = .rsaPublic(key)
    case .ec(let key): self = .ecPublic(key)
    case .edwards(let key): self = .edwardsPublic(key)
    case .montgomery(let key): self = .montgomeryPublic(key)
    }
  }

  /// Whether both have the same public half.
  func isSamePublicKey(as other: KeyMaterial) -> Bool {
    switch (publicMaterial, other.publicMaterial) {
    case (.rsaPublic(let left)?, .rsaPublic(let right)?):
      left.modulus == right.modulus && left.exponent == right.exponent
    case (.ecPublic(let left)?, .ecPublic(let right)?):
      left.curve == right.curve && left.x == right.x && left.y == right.y
    case (.edwardsPublic(let left)?, .edwardsPublic(let right)?): left.curve == right.curve && left.bytes == right.bytes
    case (.montgomeryPublic(let left)?, .montgomeryPublic(let right)?):
      left.curve == right.curve && left.bytes == right.bytes
    default: false
    }
  }
}
