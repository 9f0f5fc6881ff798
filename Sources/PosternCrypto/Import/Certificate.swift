import CPosternOpenSSL

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
    guard !Self.hasCurveParameters(bytes) else {
      throw CryptoError(code: .unsupported, message: "certificate has a curve without a name")
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

  /// Whether a curve is given by its parameters in place of its name: to decompress a point modulo a prime that was
  /// chosen for it takes OpenSSL a tenth of a second, and it does so when it reads the certificate. They all name the
  /// type of their field (RFC 3279 section 2.3.5: 1.2.840.10045.1), which nothing else in a certificate does.
  private static func hasCurveParameters(_ bytes: [UInt8]) -> Bool {
    let arc: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x01]
    var rest = bytes[...]
    while let place = rest.firstIndex(of: arc[0]) {
      rest = rest[place...]
      if rest.starts(with: arc) { return true }
      rest = rest.dropFirst()
    }
    return false
  }

  /// The thumbprint of the certificate, as in `x5t` and `x5t#S256` (RFC 7515 sections 4.1.7 and 4.1.8).
  public func thumbprint(_ hash: HashFunction) -> [UInt8] { hash.hash(bytes) }
}
