import PosternCrypto
import PosternSupport

/// Proof Key for Code Exchange (RFC 7636) with S256, the only method.
struct PKCE: Sendable {
  /// 43 characters of the unreserved set.
  let verifier: String

  /// A new one.
  static func random() -> PKCE { PKCE(verifier: Base64URL.string(SecureRandom.bytes(32))) }

  /// The `code_challenge` of the authorization request.
  var challenge: String { Base64URL.string(HashFunction.sha256.hash(Array(verifier.utf8))) }
}
