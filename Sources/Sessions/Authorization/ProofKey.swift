import PosternCrypto
import PosternSupport

/// Proof Key for Code Exchange (RFC 7636) with S256, the only method.
struct ProofKey: Sendable {
  /// 43 characters of the unreserved set.
  let verifier: String

  /// A new one.
  static func random() -> ProofKey { ProofKey(verifier: Base64URL.string(SecureRandom.bytes(32))) }

  /// What goes into the authorization request.
  var challenge: String { Base64URL.string(HashFunction.sha256.hash(Array(verifier.utf8))) }
}
