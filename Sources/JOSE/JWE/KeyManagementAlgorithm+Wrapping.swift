import PosternCrypto
import PosternJSON
import PosternSupport

extension KeyManagementAlgorithm {
  /// A content encryption key, its encrypted form, and the header parameters that the recipient needs.
  struct WrappedKey {
    let contentKey: SymmetricKey
    let encryptedKey: [UInt8]
    let parameters: [(String, JSONValue)]
  }

  /// A fresh content encryption key, encrypted to `key`; nil when `key` is of another kind.
  func makeContentKey(
    for key: KeyMaterial, parameters: JSONObject, encryption: ContentEncryption
  ) throws(CryptoError) -> WrappedKey? {
    let fresh = SymmetricKey.random(byteCount: encryption.keyByteCount)
    switch (scheme, key.publicMaterial ?? key) {
    case (.rsaOAEP(let hash), .rsaPublic(let key)):
      return WrappedKey(contentKey: fresh, encryptedKey: try key.encrypt(fresh, oaep: hash), parameters: [])
    case (.ecdhES(let wrapping), let recipient):
      return try agreed(with: recipient, wrapping, fresh, parameters: parameters, encryption: encryption)
    case (.aesKeyWrap, .symmetric(let key)):
      return WrappedKey(contentKey: fresh, encryptedKey: try AESKeyWrap.wrap(fresh, with: key), parameters: [])
    case (.aesGCMKeyWrap, .symmetric(let key)):
      let nonce = SecureRandom.bytes(AESGCM.nonceByteCount)
      let plain = fresh.reveal()
      let nothing: [UInt8] = []
      let sealed = try AESGCM.seal(plain.span.bytes, key: key, nonce: nonce, authenticating: nothing.span.bytes)
      return WrappedKey(
        contentKey: fresh, encryptedKey: sealed.ciphertext,
        parameters: [("iv", .base64URL(nonce)), ("tag", .base64URL(sealed.tag))])
    case (.direct, .symmetric(let key)):
      return WrappedKey(contentKey: key, encryptedKey: [], parameters: [])
    case (.passwordBased(let hash, let size), .symmetric(let password)):
      let salt = SecureRandom.bytes(PasswordBasedEncryption.saltByteCount)
      let iterations = PasswordBasedEncryption.maximumIterations
      guard let key = passwordKey(password, salt: salt, iterations: iterations, hash, size) else { return nil }
      return WrappedKey(
        contentKey: fresh, encryptedKey: try AESKeyWrap.wrap(fresh, with: key),
        parameters: [("p2s", .base64URL(salt)), ("p2c", .integer(Int64(iterations)))])
    default:
      return nil
    }
  }

  private func agreed(
    with recipient: KeyMaterial, _ wrapping: AESKeySize?, _ fresh: SymmetricKey, parameters: JSONObject,
    encryption: ContentEncryption
  ) throws(CryptoError) -> WrappedKey? {
    guard let ephemeral = try KeyAgreement.makeEphemeralKey(for: recipient),
      let secret = KeyAgreement.secret(ephemeral, recipient),
      let agreed = KeyAgreement.derive(
        secret, algorithmID: wrapping == nil ? encryption.name : name, parameters: parameters,
        byteCount: wrapping?.byteCount ?? encryption.keyByteCount)
    else { return nil }
    let members = ephemeral.requiredMembers(revealingSymmetric: false)
    return WrappedKey(
      contentKey: wrapping == nil ? agreed : fresh,
      encryptedKey: wrapping == nil ? [] : try AESKeyWrap.wrap(fresh, with: agreed),
      parameters: [("epk", .object(JSONObject(members)))])
  }
}

extension KeyManagementAlgorithm {
  /// The content encryption key of a received token; nil for any fault. The caller then continues with a random key, so
  /// that neither outcome nor time reveal which step failed (RFC 7516 section 11.5).
  func contentKey(
    from encryptedKey: [UInt8], with key: KeyMaterial, parameters: JSONObject, encryption: ContentEncryption
  ) -> SymmetricKey? {
    let contentKey = unwrapped(encryptedKey, with: key, parameters: parameters, encryption: encryption)
    return contentKey?.byteCount == encryption.keyByteCount ? contentKey : nil
  }

  private func unwrapped(
    _ encryptedKey: [UInt8], with key: KeyMaterial, parameters: JSONObject, encryption: ContentEncryption
  ) -> SymmetricKey? {
    switch (scheme, key) {
    case (.rsaOAEP(let hash), .rsaPrivate(let key)):
      return try? key.decrypt(encryptedKey, oaep: hash)
    case (.ecdhES(let wrapping), _):
      guard let peer = KeyAgreement.ephemeralKey(parameters), let secret = KeyAgreement.secret(key, peer) else {
        return nil
      }
      let agreed = KeyAgreement.derive(
        secret, algorithmID: wrapping == nil ? encryption.name : name, parameters: parameters,
        byteCount: wrapping?.byteCount ?? encryption.keyByteCount)
      guard let agreed else { return nil }
      if wrapping == nil { return encryptedKey.isEmpty ? agreed : nil }
      return try? AESKeyWrap.unwrap(encryptedKey, with: agreed)
    case (.aesKeyWrap, .symmetric(let key)):
      return try? AESKeyWrap.unwrap(encryptedKey, with: key)
    case (.aesGCMKeyWrap, .symmetric(let key)):
      guard let iv = Self.bytes("iv", parameters), let tag = Self.bytes("tag", parameters) else { return nil }
      let sealed = SealedMessage(ciphertext: encryptedKey, tag: tag)
      let nothing: [UInt8] = []
      return (try? AESGCM.open(sealed, key: key, nonce: iv, authenticating: nothing.span.bytes)).map {
        SymmetricKey($0)
      }
    case (.direct, .symmetric(let key)):
      return encryptedKey.isEmpty ? key : nil
    case (.passwordBased(let hash, let size), .symmetric(let password)):
      guard let salt = Self.bytes("p2s", parameters), let iterations = parameters["p2c"]?.integerValue else {
        return nil
      }
      return passwordKey(password, salt: salt, iterations: Int(clamping: iterations), hash, size)
        .flatMap { try? AESKeyWrap.unwrap(encryptedKey, with: $0) }
    default:
      return nil
    }
  }

  /// The key derived from a password; nil outside of the bounds. The salt includes the algorithm's name (RFC 7518
  /// section 4.8.1.1).
  func passwordKey(
    _ password: SymmetricKey, salt: [UInt8], iterations: Int, _ hash: HashFunction, _ size: AESKeySize
  ) -> SymmetricKey? {
    typealias Bounds = PasswordBasedEncryption
    guard (Bounds.minimumIterations...Bounds.maximumIterations).contains(iterations),
      (Bounds.minimumSaltByteCount...Bounds.maximumSaltByteCount).contains(salt.count)
    else { return nil }
    return try? PBKDF2.derive(
      from: password, salt: Array(name.utf8) + [0] + salt, iterations: iterations, hash: hash, byteCount: size.byteCount
    )
  }

  private static func bytes(_ name: String, _ parameters: JSONObject) -> [UInt8]? {
    parameters[name]?.stringValue.flatMap { Base64URL.decode($0) }
  }
}

/// The bounds of PBES2 (RFC 7518 section 4.8), in which the sender chooses the number of iterations.
enum PasswordBasedEncryption {
  /// The most iterations accepted (CVE-2023-52428), and the number used for encrypting.
  static let maximumIterations = 10_000
  /// The fewest iterations that RFC 7518 section 4.8.1.2 recommends.
  static let minimumIterations = 1000
  /// The shortest salt that RFC 7518 section 4.8.1.1 permits.
  static let minimumSaltByteCount = 8
  /// The longest accepted salt: a longer one only costs time.
  static let maximumSaltByteCount = 1024
  /// The length of the salt used for encrypting.
  static let saltByteCount = 16
}

/// ECDH-ES (RFC 7518 section 4.6): one static key of the recipient, one ephemeral key of the sender.
enum KeyAgreement {
  /// The largest accepted `apu` or `apv`.
  static let maximumPartyInfoByteCount = 1024

  /// The key of `byteCount` bytes that both sides derive, bound to the algorithm that will use it.
  static func derive(
    _ secret: SymmetricKey, algorithmID: String, parameters: JSONObject, byteCount: Int
  ) -> SymmetricKey? {
    guard let apu = partyInfo("apu", parameters), let apv = partyInfo("apv", parameters) else { return nil }
    var info = prefixed(Array(algorithmID.utf8))
    info += prefixed(apu)
    info += prefixed(apv)
    info += bigEndian(byteCount * 8)
    return ConcatKDF.derive(from: secret, info: info, byteCount: byteCount)
  }

  /// The secret shared by a private and a public key; nil when their curves differ or the point is invalid.
  static func secret(_ own: KeyMaterial, _ peer: KeyMaterial) -> SymmetricKey? {
    switch (own, peer) {
    case (.ecPrivate(let own), .ecPublic(let peer)): try? own.sharedSecret(with: peer)
    case (.montgomeryPrivate(let own), .montgomeryPublic(let peer)): try? own.sharedSecret(with: peer)
    default: nil
    }
  }

  /// The sender's ephemeral public key: a JWK without private members.
  static func ephemeralKey(_ parameters: JSONObject) -> KeyMaterial? {
    guard let members = parameters["epk"]?.objectValue, members["d"] == nil else { return nil }
    return try? KeyMaterial(members: members)
  }

  /// A fresh key on the curve of `recipient`; nil when that is no key for key agreement.
  static func makeEphemeralKey(for recipient: KeyMaterial) throws(CryptoError) -> KeyMaterial? {
    switch recipient {
    case .ecPublic(let key): .ecPrivate(try .generate(key.curve))
    case .montgomeryPublic(let key): .montgomeryPrivate(try .generate(key.curve))
    default: nil
    }
  }

  private static func partyInfo(_ name: String, _ parameters: JSONObject) -> [UInt8]? {
    guard let value = parameters[name] else { return [] }
    guard let bytes = value.stringValue.flatMap({ Base64URL.decode($0) }), bytes.count <= maximumPartyInfoByteCount
    else { return nil }
    return bytes
  }

  private static func prefixed(_ bytes: [UInt8]) -> [UInt8] { bigEndian(bytes.count) + bytes }

  private static func bigEndian(_ number: Int) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
  }
}
