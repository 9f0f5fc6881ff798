import COpenSSL

/// An X.509 certificate, for the key in it. Nothing here says that anybody should trust it.
public struct Certificate: Sendable {
  /// Longer ones are not looked at.
  public static let maximumByteCount = 64 * 1024

  /// The DER encoding.
  public let bytes: [UInt8]
  /// The public key in it; nil when it is of a kind not supported here.
  public let publicKey: ImportedPublicKey?

  /// Parses one DER certificate without anything behind it.
  public init(der bytes: [UInt8]) throws(CryptoError) {
    guard bytes.count <= Self.maximumByteCount else {
      throw CryptoError(code: .invalidInput, message: "certificate is too large")
    }
    let key = try ErrorQueue.checked(.invalidInput, "X.509 certificate") { () -> EVPKey?? in
      bytes.withUnsafeBufferPointer { buffer -> EVPKey?? in
        var position = buffer.baseAddress
        guard let certificate = d2i_X509(nil, &position, buffer.count) else { return nil }
        defer { X509_free(certificate) }
        guard position == buffer.baseAddress.map({ $0 + buffer.count }) else { return nil }
        return .some(X509_get_pubkey(certificate).map(EVPKey.init(owning:)))
      }
    }
    self.bytes = bytes
    publicKey = key.flatMap { try? ImportedPublicKey(of: $0) }
  }

  /// The thumbprint of the certificate, as in `x5t` and `x5t#S256` (RFC 7515 sections 4.1.7 and 4.1.8).
  public func thumbprint(_ hash: HashFunction) -> [UInt8] { hash.hash(bytes) }
}
