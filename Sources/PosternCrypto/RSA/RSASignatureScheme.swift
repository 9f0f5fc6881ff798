import CPosternOpenSSL

/// How an RSA signature is padded (RFC 8017 section 8) and what hashes the message.
public struct RSASignatureScheme: Sendable, Hashable {
  enum Padding: Sendable, Hashable {
    case pkcs1v15
    case pss
  }

  let padding: Padding
  /// What hashes the message.
  public let hashFunction: HashFunction

  /// RSASSA-PKCS1-v1_5.
  public static func pkcs1v15(_ hash: HashFunction) -> RSASignatureScheme {
    RSASignatureScheme(padding: .pkcs1v15, hashFunction: hash)
  }

  /// RSASSA-PSS with MGF1 over the same hash and a salt exactly as long as the hash (RFC 7518 section 3.5).
  public static func pss(_ hash: HashFunction) -> RSASignatureScheme {
    RSASignatureScheme(padding: .pss, hashFunction: hash)
  }

  func configure(_ context: OpaquePointer) -> Bool {
    switch padding {
    case .pkcs1v15:
      EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1
    case .pss:
      EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) == 1
        && EVP_PKEY_CTX_set_rsa_mgf1_md(context, hashFunction.pointer) == 1
        && EVP_PKEY_CTX_set_rsa_pss_saltlen(context, RSA_PSS_SALTLEN_DIGEST) == 1
    }
  }
}
