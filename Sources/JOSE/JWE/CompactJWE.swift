import PosternCrypto
public import PosternJSON
public import PosternSupport

/// A JWE in compact serialization (RFC 7516), decoded but not decrypted.
public struct CompactJWE: Sendable {
  /// The protected header. Not authentic until the content has been decrypted.
  public let header: JOSEHeader
  /// `enc`.
  public let encryptionName: String
  private let serialization: CompactSerialization
  private let encryptedKey: [UInt8]
  private let iv: [UInt8]
  private let message: SealedMessage

  /// Decodes `token`: `token_too_large`, `malformed_token`, `duplicate_claim` or `unsupported_crit` when that fails,
  /// and `alg_not_supported` for compressed content, which is not accepted at all.
  public init(_ token: String, limits: TokenLimits = TokenLimits()) throws(JOSEError) {
    try self.init(CompactSerialization(token, limits: limits), limits: limits)
  }

  /// Decodes a token that is already split; three parts are `malformed_token`.
  public init(_ serialization: CompactSerialization, limits: TokenLimits = TokenLimits()) throws(JOSEError) {
    guard serialization.kind == .jwe else { throw JOSEError(.malformedToken, "token does not have five parts") }
    let text = serialization.bytes.span.bytes
    header = try JOSEHeader(part: text.extracting(serialization.range(0)), limits: limits)
    guard let encryptionName = header.parameters["enc"]?.stringValue else {
      throw JOSEError(.malformedToken, "enc is missing or not a string", claim: "enc")
    }
    guard header.parameters["zip"] == nil else {
      throw JOSEError(.algNotSupported, "compressed content is not accepted", claim: "zip")
    }
    guard let encryptedKey = Base64URL.decode(text.extracting(serialization.range(1))),
      let iv = Base64URL.decode(text.extracting(serialization.range(2))),
      let ciphertext = Base64URL.decode(text.extracting(serialization.range(3))),
      let tag = Base64URL.decode(text.extracting(serialization.range(4)))
    else { throw JOSEError(.malformedToken, "a part is not base64url") }
    self.encryptionName = encryptionName
    self.encryptedKey = encryptedKey
    self.iv = iv
    message = SealedMessage(ciphertext: ciphertext, tag: tag)
    self.serialization = serialization
  }

  /// The header's two algorithms, if the allow-lists contain them, else `alg_not_allowed`.
  public func algorithms(
    allowed: [KeyManagementAlgorithm] = KeyManagementAlgorithm.asymmetric,
    encryptions: [ContentEncryption] = ContentEncryption.all
  ) throws(JOSEError) -> (algorithm: KeyManagementAlgorithm, encryption: ContentEncryption) {
    guard let algorithm = KeyManagementAlgorithm(name: header.algorithm), allowed.contains(algorithm) else {
      throw JOSEError(.algNotAllowed, "the token's algorithm is not in the allow-list", claim: "alg")
    }
    guard let encryption = ContentEncryption(name: encryptionName), encryptions.contains(encryption) else {
      throw JOSEError(.algNotAllowed, "the token's content encryption is not in the allow-list", claim: "enc")
    }
    return (algorithm, encryption)
  }

  /// The plaintext, decrypted with the private or shared `key`.
  ///
  /// `key_alg_mismatch` and `weak_key` when the key does not match the algorithm, `decryption_failed` for any other
  /// fault: a sender must not learn which step failed.
  public func decrypt(
    with key: JWK, algorithm: KeyManagementAlgorithm, encryption: ContentEncryption
  ) throws(JOSEError) -> [UInt8] {
    guard header.algorithm.hasSameBytes(as: algorithm.name), encryptionName.hasSameBytes(as: encryption.name) else {
      throw JOSEError(.algNotAllowed, "the token's algorithm is another one", claim: "alg")
    }
    guard key.permits(algorithm.decryptionOperations, for: .encryption) else {
      throw JOSEError(.keyAlgMismatch, "the key is not for decrypting")
    }
    if let fault = algorithm.mismatch(with: key, encryption: encryption) ?? algorithm.weakness(of: key) { throw fault }
    guard key.material.isSecret else { throw JOSEError(.invalidKey, "a public key cannot decrypt") }
    let found = algorithm.contentKey(
      from: encryptedKey, with: key.material, parameters: header.parameters, encryption: encryption)
    let contentKey = found ?? SymmetricKey.random(byteCount: encryption.keyByteCount)
    let data = serialization.bytes.span.bytes.extracting(serialization.range(0))
    guard let plaintext = encryption.open(message, key: contentKey, iv: iv, authenticating: data), found != nil else {
      throw JOSEError(.decryptionFailed, "the token cannot be decrypted")
    }
    return plaintext
  }
}

extension CompactJWE {
  /// Encrypts `plaintext` to `key`. The header is `alg`, `enc`, the key's `kid` if it has one, the algorithm's own
  /// parameters, then `header` in its order (key agreement binds `apu` and `apv` in it into the key).
  ///
  /// `key_alg_mismatch`, `weak_key` and `invalid_key` as for decryption; `forbidden_header` when `header` has a
  /// parameter of the algorithm, an extension, or compression.
  public static func encrypt(
    _ plaintext: [UInt8], for key: JWK, algorithm: KeyManagementAlgorithm, encryption: ContentEncryption,
    header: JSONObject = [:]
  ) throws(JOSEError) -> String {
    guard key.permits(algorithm.encryptionOperations, for: .encryption) else {
      throw JOSEError(.keyAlgMismatch, "the key is not for encrypting")
    }
    if let fault = algorithm.mismatch(with: key, encryption: encryption) ?? algorithm.weakness(of: key) { throw fault }
    if let member = header.members.first(where: { reservedParameters.contains($0.name) }) {
      throw JOSEError(.forbiddenHeader, "this header parameter cannot be given", claim: member.name)
    }
    do throws(CryptoError) {
      let wrapped = try algorithm.makeContentKey(for: key.material, parameters: header, encryption: encryption)
      if let wrapped {
        var parameters: JSONObject = ["alg": .string(algorithm.name), "enc": .string(encryption.name)]
        parameters["kid"] = key.keyID.map { .string($0) }
        for (name, value) in wrapped.parameters { parameters[name] = value }
        for member in header.members { parameters[member.name] = member.value }
        return try assemble(plaintext, wrapped, parameters, encryption)
      }
    } catch {
      throw JOSEError(.operationFailed, error.message)
    }
    throw JOSEError(.invalidKey, "\(algorithm.name) cannot encrypt with this key or header")
  }

  private static let reservedParameters = ["alg", "enc", "zip", "crit", "b64", "epk", "iv", "tag", "p2s", "p2c"]

  private static func assemble(
    _ plaintext: [UInt8], _ wrapped: KeyManagementAlgorithm.WrappedKey, _ parameters: JSONObject,
    _ encryption: ContentEncryption
  ) throws(CryptoError) -> String {
    var token = Base64URL.encode(JSONWriter().write(.object(parameters)))
    let sealed = try encryption.seal(plaintext.span.bytes, key: wrapped.contentKey, authenticating: token.span.bytes)
    for part in [wrapped.encryptedKey, sealed.iv, sealed.message.ciphertext, sealed.message.tag] {
      token.append(UInt8(ascii: "."))
      token += Base64URL.encode(part)
    }
    return String(decoding: token, as: UTF8.self)
  }
}

extension CompactJWE: ConciseStringConvertible {
  /// The header: never the token.
  public var description: String { "JWE, \(header), \(Concise.name(encryptionName))" }
}
