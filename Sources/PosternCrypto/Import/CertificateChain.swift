import CPosternOpenSSL
public import PosternSupport

/// The certificates of a PEM text, the first of them somebody's own. Nothing here says that anybody should trust it.
public struct CertificateChain: Sendable {
  /// Longer texts are not looked at.
  public static let maximumByteCount = 64 * 1024

  /// The own certificate's DER encoding.
  public let certificate: [UInt8]
  /// From when on it is good.
  public let notBefore: Timestamp
  /// Until when it is good.
  public let notAfter: Timestamp

  /// Reads a PEM text; `invalidInput` when it does not begin with a certificate.
  public init(pem text: [UInt8]) throws(CryptoError) {
    guard !text.isEmpty, text.count <= Self.maximumByteCount else {
      throw CryptoError(code: .invalidInput, message: "PEM text is empty or too large")
    }
    let parts = try ErrorQueue.checked(.invalidInput, "no PEM certificate") {
      text.withUnsafeBytes { Self.parts(of: $0) }
    }
    (certificate, notBefore, notAfter) = parts
  }

  /// Whether `key`, a private key as PEM, belongs to the own certificate; `invalidKey` when it is no readable key.
  public func belongs(toKey key: [UInt8]) throws(CryptoError) -> Bool {
    guard !key.isEmpty, key.count <= Self.maximumByteCount else {
      throw CryptoError(code: .invalidInput, message: "PEM text is empty or too large")
    }
    let pair = try ErrorQueue.checked(.invalidKey, "no readable private key in the PEM text") { () -> EVPKey? in
      key.withUnsafeBytes { key in
        guard let bio = BIO_new_mem_buf(key.baseAddress, Int32(key.count)) else { return nil }
        defer { BIO_free(bio) }
        return postern_pem_read_private_key(bio).map(EVPKey.init(owning:))
      }
    }
    return ErrorQueue.discarding {
      certificate.withUnsafeBufferPointer { buffer in
        var position = buffer.baseAddress
        guard let certificate = d2i_X509(nil, &position, buffer.count) else { return false }
        defer { X509_free(certificate) }
        return pair.withPointer { X509_check_private_key(certificate, $0) == 1 }
      }
    }
  }

  private static func parts(of text: UnsafeRawBufferPointer) -> ([UInt8], Timestamp, Timestamp)? {
    guard let bio = BIO_new_mem_buf(text.baseAddress, Int32(text.count)) else { return nil }
    defer { BIO_free(bio) }
    guard let certificate = postern_pem_read_certificate(bio) else { return nil }
    defer { X509_free(certificate) }
    var bytes: UnsafeMutablePointer<UInt8>?
    let count = i2d_X509(certificate, &bytes)
    guard count > 0, let bytes else { return nil }
    defer { CRYPTO_free(bytes, nil, 0) }
    guard let notBefore = time(X509_get0_notBefore(certificate)), let notAfter = time(X509_get0_notAfter(certificate))
    else { return nil }
    return (Array(UnsafeBufferPointer(start: bytes, count: Int(count))), notBefore, notAfter)
  }

  private static func time(_ time: UnsafePointer<ASN1_TIME>?) -> Timestamp? {
    let epoch = ASN1_TIME_set(nil, 0)
    defer { ASN1_STRING_free(epoch) }
    var days: Int32 = 0
    var seconds: Int32 = 0
    guard ASN1_TIME_diff(&days, &seconds, epoch, time) == 1 else { return nil }
    return Timestamp(secondsSinceEpoch: Int64(days) * 86_400 + Int64(seconds))
  }
}
