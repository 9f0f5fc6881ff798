import PosternCrypto
import PosternSupport

/// Proof Key for Code Exchange (RFC 7636) with S256, the only method.
package struct PKCE: Sendable {
  /// 43 characters of the unreserved set.
  package let verifier: String

  package init(verifier: String) { self.verifier = verifier }

  /// A new one.
  package static func random() -> PKCE { PKCE(verifier: Base64URL.string(SecureRandom.bytes(32))) }

  /// The `code_challenge` of the authorization request.
  package var challenge: String { Base64URL.string(HashFunction.sha256.hash(Array(verifier.utf8))) }
}
