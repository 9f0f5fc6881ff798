public import JOSE
public import PosternSupport

/// The agreement with an issuer about encrypted tokens (OpenID Connect Core section 10.2).
public struct TokenEncryptionPolicy: Sendable {
  /// Whether a token that is only signed is invalid.
  public var isRequired: Bool
  /// The private keys to decrypt with; a key without `kid` matches any.
  public var keys: [JWK]
  /// The accepted `alg` values. A symmetric one takes its key from the client secret.
  public var algorithms: [KeyManagementAlgorithm]
  /// The accepted `enc` values.
  public var encryptions: [ContentEncryption]

  /// RSA-OAEP with SHA-1 or SHA-256 and the variants of ECDH-ES: algorithms without a shared key and without a known
  /// oracle.
  public static let defaultAlgorithms: [KeyManagementAlgorithm] = [
    .rsaOAEP256, .rsaOAEP, .ecdhES, .ecdhESA128KW, .ecdhESA192KW, .ecdhESA256KW,
  ]

  /// Returns the same policy with optional encryption: the requirement for ID tokens
  /// (`id_token_encrypted_response_alg`) is not one for other tokens.
  var optional: TokenEncryptionPolicy {
    var policy = self
    policy.isRequired = false
    return policy
  }

  /// No agreement: an encrypted token is invalid.
  public static let none = TokenEncryptionPolicy(keys: [])

  /// A policy of the given parts.
  public init(
    isRequired: Bool = false, keys: [JWK], algorithms: [KeyManagementAlgorithm] = Self.defaultAlgorithms,
    encryptions: [ContentEncryption] = ContentEncryption.all
  ) {
    self.isRequired = isRequired
    self.keys = keys
    self.algorithms = algorithms
    self.encryptions = encryptions
  }
}

/// A token without its encryption, if it had one.
struct OpenedToken: Sendable {
  /// The signed token.
  let text: String
  /// The same token split at its dots, where that has been done already.
  let serialization: CompactSerialization?
  /// Whether it was encrypted with a secret shared with the issuer.
  let isUnderSharedSecret: Bool
  /// The header of the encryption; nil where there was none.
  var outerHeader: JOSEHeader?
}

extension TokenEncryptionPolicy {
  /// Decrypts an encrypted token (OpenID Connect Core section 16.14: signed, then encrypted; RFC 7516 section 5.2).
  ///
  /// `encryption_required` and `unexpected_encryption` when the token violates the agreement; `decryption_failed` for
  /// any failure inside. The result must be a signed token: a second layer is malformed. `types` are the accepted
  /// values of the encryption's own `typ`: a token of another type outside is of that type, whatever is inside (RFC
  /// 8725 section 3.11).
  func open(
    _ token: String, types: [String], clientSecret: Secret<String>?, limits: TokenLimits
  ) throws(TokenFault) -> OpenedToken {
    do throws(JOSEError) {
      let serialization = try CompactSerialization(token, limits: limits)
      guard serialization.kind == .jwe else {
        guard !isRequired else { throw JOSEError(.encryptionRequired, "the token is not encrypted") }
        return OpenedToken(text: token, serialization: serialization, isUnderSharedSecret: false)
      }
      let jwe = try CompactJWE(serialization, limits: limits)
      guard !keys.isEmpty || (clientSecret != nil && algorithms.contains(where: \.isSymmetric)) else {
        throw JOSEError(.unexpectedEncryption, "the token is encrypted, and nothing was agreed about that")
      }
      let (algorithm, encryption) = try jwe.algorithms(allowed: algorithms, encryptions: encryptions)
      try jwe.header.requireType(types, mayBeAbsent: true)
      guard jwe.header.contentType == nil || jwe.header.isNested else {
        throw JOSEError(.wrongTokenType, "cty of an encrypted token is not JWT", claim: "cty")
      }
      let derived = clientSecret.flatMap { JWK.clientSecret($0, algorithm: algorithm, encryption: encryption) }
      let candidates = decryptionKeys(keyID: jwe.header.keyID) + (derived.map { [$0] } ?? [])
      let plaintext = try Self.decrypt(jwe, with: candidates, algorithm: algorithm, encryption: encryption)
      guard let text = String(validating: plaintext, as: UTF8.self) else {
        throw JOSEError(.malformedToken, "what was encrypted is not text")
      }
      return OpenedToken(
        text: text, serialization: nil, isUnderSharedSecret: algorithm.isSymmetric, outerHeader: jwe.header)
    } catch {
      throw TokenFault(error)
    }
  }

  /// Returns the keys that the header may refer to. The configured keys come from files, without a name: such a key
  /// matches any.
  private func decryptionKeys(keyID: String?) -> [JWK] {
    guard let keyID else { return keys }
    let named = keys.filter { $0.keyID?.isIdentical(to: keyID) ?? false }
    return named.isEmpty ? keys.filter { $0.keyID == nil } : named
  }

  private static func decrypt(
    _ jwe: CompactJWE, with keys: [JWK], algorithm: KeyManagementAlgorithm, encryption: ContentEncryption
  ) throws(JOSEError) -> [UInt8] {
    var fault = JOSEError(.keyNotFound, "no key to decrypt the token with", claim: "kid")
    for key in keys {
      do throws(JOSEError) {
        return try jwe.decrypt(with: key, algorithm: algorithm, encryption: encryption)
      } catch {
        if fault.code != .decryptionFailed { fault = error }
      }
    }
    throw fault
  }
}

extension TokenEncryptionPolicy: ConciseStringConvertible {
  /// Whether encryption is required, and the number of keys.
  public var description: String {
    "encryption \(isRequired ? "required" : "optional"), \(Concise.count(keys.count, "key"))"
  }
}
