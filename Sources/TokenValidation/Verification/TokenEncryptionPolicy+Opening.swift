import JOSE
import PosternSupport

/// A token after its encryption, if it had one, has been taken off.
struct OpenedToken: Sendable {
  /// The signed token.
  let text: String
  /// The same, cut at its dots, where that has been done already.
  let serialization: CompactSerialization?
  /// Whether it was encrypted under a secret shared with the issuer.
  let isUnderSharedSecret: Bool
  /// The header of the encryption; nil where there was none.
  var outerHeader: JOSEHeader?
}

extension TokenEncryptionPolicy {
  /// Takes the encryption off (OpenID Connect Core section 16.14: signed, then encrypted; RFC 7516 section 5.2).
  ///
  /// `encryption_required` and `unexpected_encryption` when the token is not what was agreed; `decryption_failed` for
  /// whatever went wrong inside. What comes out must be a signed token: a second layer is malformed. `types` are those
  /// that the encryption's own `typ` may have: what is another kind of token outside is one, whatever stands inside
  /// (RFC 8725 section 3.11).
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

  /// The keys the header may mean. One's own keys come from files, without a name: such a key stands for any.
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
