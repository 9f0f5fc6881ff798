import PosternCrypto
public import PosternJSON
import PosternSupport

extension JWK {
  /// The most certificates accepted in `x5c`.
  static let maximumCertificateCount = 10

  /// The key that a JSON object describes (RFC 7517 section 4). Unknown members are ignored, as the RFC requires.
  ///
  /// `alg_not_supported` for an unknown `kty` or `crv`, `weak_key` for an exponent that cannot be secure, `invalid_key`
  /// for key material that is malformed, and for parts that contradict each other, such as an `x5c` whose leaf has
  /// another key. An optional member that is malformed counts as absent.
  public convenience init(json members: JSONObject) throws(JOSEError) {
    let material = try KeyMaterial(members: members)
    let use = members["use"]?.stringValue
    let operations = Self.operations(in: members)
    try Self.checkConsistency(use: use, operations: operations)
    self.init(
      material,
      keyID: members["kid"]?.stringValue,
      algorithm: members["alg"]?.stringValue,
      use: use,
      operations: operations,
      certificates: try Self.certificates(in: members, of: material))
  }

  /// The operations; nil where none is named.
  private static func operations(in members: JSONObject) -> [String]? {
    let names = members["key_ops"]?.arrayValue?.prefix(16).compactMap(\.stringValue) ?? []
    return names.isEmpty ? nil : names
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

extension JWK {
  /// The certificates in `x5c` (RFC 7517 section 4.7). The leaf must have the key of the JWK, and match `x5t` and
  /// `x5t#S256` (sections 4.8 and 4.9) where they are present. Signatures of the certificates are not checked.
  static func certificates(in members: JSONObject, of material: KeyMaterial) throws(JOSEError) -> [Certificate] {
    let sha1 = thumbprint("x5t", .insecureSHA1, in: members)
    let sha256 = thumbprint("x5t#S256", .sha256, in: members)
    var certificates: [Certificate] = []
    for element in members["x5c"]?.arrayValue?.prefix(maximumCertificateCount) ?? [] {
      guard let bytes = element.stringValue.flatMap({ Base64.decode($0) }),
        let certificate = try? Certificate(der: bytes)
      else { return [] }
      certificates.append(certificate)
    }
    guard !certificates.isEmpty else { return [] }
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

  private static func thumbprint(_ name: String, _ hash: HashFunction, in members: JSONObject) -> [UInt8]? {
    let bytes = members[name]?.stringValue.flatMap { Base64URL.decode($0) }
    return bytes.flatMap { $0.count == hash.byteCount ? $0 : nil }
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

extension JWK {
  /// The private key of a PEM text: PKCS#8, SEC 1 or PKCS#1, unencrypted.
  ///
  /// `alg_not_supported` for another kind of key, `invalid_key` for everything else; the text is never quoted.
  public convenience init(pem text: [UInt8], keyID: String? = nil, algorithm: String? = nil) throws(JOSEError) {
    let material: KeyMaterial
    do throws(CryptoError) {
      switch try ImportedPrivateKey(pem: text) {
      case .rsa(let key): material = .rsaPrivate(key)
      case .ec(let key): material = .ecPrivate(key)
      case .edwards(let key): material = .edwardsPrivate(key)
      case .montgomery(let key): material = .montgomeryPrivate(key)
      }
    } catch {
      throw JOSEError(invalidKey: error)
    }
    self.init(material, keyID: keyID, algorithm: algorithm)
  }

  /// The public key of the first certificate of a PEM text, with the certificate as its `x5c` and its thumbprint as
  /// `kid`: what an issuer registers for `self_signed_tls_client_auth` (RFC 8705 section 2.2.2).
  ///
  /// `invalid_key` for a text without a certificate, or one with a key of an unknown kind.
  public convenience init(certificatePEM text: [UInt8]) throws(JOSEError) {
    do throws(CryptoError) {
      let certificate = try Certificate(der: CertificateChain(pem: text).certificate)
      guard let key = certificate.publicKey else {
        throw CryptoError(code: .unsupported, message: "the certificate has a key of another kind")
      }
      let material = KeyMaterial(key)
      self.init(
        material, keyID: JWK(material).thumbprint, use: KeyPurpose.signature.use, certificates: [certificate])
    } catch {
      throw JOSEError(invalidKey: error)
    }
  }

  /// The public key of a PEM text, or that of a certificate in it. Errors as for private keys.
  public convenience init(publicPEM text: [UInt8]) throws(JOSEError) {
    do throws(CryptoError) {
      self.init(KeyMaterial(try ImportedPublicKey(pem: text)))
    } catch {
      throw JOSEError(invalidKey: error)
    }
  }
}
