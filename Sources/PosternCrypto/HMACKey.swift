import CPosternOpenSSL

/// A key for HMAC (RFC 2104), made ready once for any number of messages: OpenSSL takes several times as long to begin
/// with a key as to go on from a copy of what it has begun.
public final class HMACKey: @unchecked Sendable {
  // Sendable because the context is only ever copied from, which does not change it.
  private let begun: OpaquePointer
  private let hash: HashFunction

  /// A key for codes made with `hash`; it must not be empty.
  public init(_ hash: HashFunction, key: SymmetricKey) throws(CryptoError) {
    begun = try HMAC.started(hash, key: key)
    self.hash = hash
  }

  deinit { EVP_MAC_CTX_free(begun) }

  /// The authentication code of one message.
  public func authenticate(_ message: RawSpan) -> [UInt8] {
    var code = HMAC(hash, copying: begun)
    code.update(message)
    return code.finalize()
  }
}
