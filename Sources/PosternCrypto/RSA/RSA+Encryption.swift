import CPosternOpenSSL

extension RSAPublicKey {
  /// `message` encrypted with RSAES-OAEP (RFC 8017 section 7.1), `hash` used for the label and for MGF1, no label.
  public func encrypt(_ message: SymmetricKey, oaep hash: HashFunction) throws(CryptoError) -> [UInt8] {
    try ErrorQueue.checked(.operationFailed, "RSA encryption") {
      key.withPointer { key in
        guard let context = EVP_PKEY_CTX_new(key, nil) else { return nil }
        defer { EVP_PKEY_CTX_free(context) }
        guard EVP_PKEY_encrypt_init(context) == 1, OAEP.configure(context, hash) else { return nil }
        var succeeded = false
        let output = [UInt8](unsafeUninitializedCapacity: modulus.count) { buffer, count in
          var size = buffer.count
          succeeded =
            message.withUnsafeBytes { EVP_PKEY_encrypt(context, buffer.baseAddress, &size, $0.bytes, $0.count) } == 1
          count = succeeded ? size : 0
        }
        return succeeded ? output : nil
      }
    }
  }
}

extension RSAPrivateKey {
  /// The plaintext of an RSAES-OAEP `ciphertext`; `authenticationFailed` for any fault, deliberately without details.
  public func decrypt(_ ciphertext: [UInt8], oaep hash: HashFunction) throws(CryptoError) -> SymmetricKey {
    let plaintext = ErrorQueue.discarding { () -> SymmetricKey? in
      key.withPointer { key in
        guard ciphertext.count == publicKey.modulus.count, let context = EVP_PKEY_CTX_new(key, nil) else { return nil }
        defer { EVP_PKEY_CTX_free(context) }
        guard EVP_PKEY_decrypt_init(context) == 1, OAEP.configure(context, hash) else { return nil }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: ciphertext.count) { buffer in
          defer { OPENSSL_cleanse(buffer.baseAddress, buffer.count) }
          var size = buffer.count
          guard EVP_PKEY_decrypt(context, buffer.baseAddress, &size, ciphertext, ciphertext.count) == 1 else {
            return nil
          }
          return SymmetricKey(copying: buffer[..<size])
        }
      }
    }
    guard let plaintext else { throw CryptoError(code: .authenticationFailed, message: "RSA decryption") }
    return plaintext
  }
}

private enum OAEP {
  static func configure(_ context: OpaquePointer, _ hash: HashFunction) -> Bool {
    EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_OAEP_PADDING) == 1
      && EVP_PKEY_CTX_set_rsa_oaep_md(context, hash.pointer) == 1
      && EVP_PKEY_CTX_set_rsa_mgf1_md(context, hash.pointer) == 1
  }
}
