import PosternCrypto
public import PosternSupport

extension JWK {
  /// The key of HS256, HS384 and HS512 that a client secret is: its UTF-8 octets (OpenID Connect Core section 10.1).
  public static func clientSecret(_ secret: Secret<String>) -> JWK {
    JWK(.symmetric(SymmetricKey(Array(secret.reveal().utf8))))
  }

  /// The key that `algorithm` derives from a client secret: the left part of a SHA-2 hash of its UTF-8 octets, as long
  /// as needed (OpenID Connect Core section 10.2). Nil for an algorithm that takes no shared key of a fixed length.
  public static func clientSecret(
    _ secret: Secret<String>, algorithm: KeyManagementAlgorithm, encryption: ContentEncryption
  ) -> JWK? {
    guard let count = algorithm.sharedKeyByteCount(encryption) else { return nil }
    let hash: HashFunction = count <= 32 ? .sha256 : (count <= 48 ? .sha384 : .sha512)
    return JWK(.symmetric(SymmetricKey(Array(hash.hash(Array(secret.reveal().utf8))[..<count]))))
  }
}
