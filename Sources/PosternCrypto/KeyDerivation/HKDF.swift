/// HKDF with SHA-256 (RFC 5869): several keys out of one.
public enum HKDF {
  /// The pseudorandom key of `secret` (section 2.2), of which `expand` makes keys. `salt` need not be secret; it must
  /// not be empty.
  public static func extract(from secret: SymmetricKey, salt: [UInt8]) throws(CryptoError) -> SymmetricKey {
    var code = try HMAC(.sha256, key: SymmetricKey(salt))
    secret.withUnsafeBytes { code.update(RawSpan(_unsafeBytes: $0)) }
    return SymmetricKey(code.finalize())
  }

  /// A key of 32 bytes for the use that `info` names (section 2.3, one round).
  public static func expand(_ pseudorandomKey: SymmetricKey, info: [UInt8]) throws(CryptoError) -> SymmetricKey {
    SymmetricKey(try HMAC.authenticate((info + [1]).span.bytes, using: .sha256, key: pseudorandomKey))
  }
}
