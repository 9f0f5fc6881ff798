import CPosternOpenSSL
public import PosternSupport

/// An X.509 certificate, for the key in it. Whether it can be trusted is not checked.
public struct Certificate: Sendable {
  /// The largest accepted certificate.
  public static let maximumByteCount = 64 * 1024

  /// The DER encoding.
  public let bytes: [UInt8]
  /// The public key in it; nil when its kind is not supported.
  public let publicKey: ImportedPublicKey?

  /// Parses one DER certificate; nothing may follow it.
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

  /// Whether a curve is given by explicit parameters instead of its name. When OpenSSL reads such a certificate, it
  /// decompresses a point, which takes a tenth of a second for a prime chosen to be slow. Explicit parameters contain
  /// the object identifier of the field type (RFC 3279 section 2.3.5: 1.2.840.10045.1); nothing else does.
  private static func hasCurveParameters(_ bytes: [UInt8]) -> Bool {
    let arc: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x01]
    var rest = bytes[...]
    while let index = rest.firstIndex(of: arc[0]) {
      rest = rest[index...]
      if rest.starts(with: arc) { return true }
      rest = rest.dropFirst()
    }
    return false
  }

  /// The hash of the certificate, as in `x5t` and `x5t#S256` (RFC 7515 sections 4.1.7 and 4.1.8).
  public func thumbprint(_ hash: HashFunction) -> [UInt8] { hash.hash(bytes) }
}

/// The first certificate of a PEM text, with its validity. Whether it can be trusted is not checked.
public struct CertificateChain: Sendable {
  /// The largest accepted text.
  public static let maximumByteCount = PEM.maximumByteCount

  /// The certificate's DER encoding.
  public let certificate: [UInt8]
  /// The start of its validity.
  public let notBefore: Timestamp
  /// The end of its validity.
  public let notAfter: Timestamp

  /// Reads a PEM text; `invalidInput` when it does not begin with a certificate.
  public init(pem text: [UInt8]) throws(CryptoError) {
    (certificate, notBefore, notAfter) = try PEM.read(
      text, orThrow: .invalidInput, "no PEM certificate", Self.parts(of:))
  }

  /// Whether `key`, a private key as PEM, belongs to the certificate; `invalidKey` when it is not a readable key.
  public func belongs(toKey key: [UInt8]) throws(CryptoError) -> Bool {
    let pair = try PEM.privateKey(key, "no readable private key in the PEM text")
    return ErrorQueue.discarding {
      certificate.withUnsafeBufferPointer { buffer in
        var position = buffer.baseAddress
        guard let certificate = d2i_X509(nil, &position, buffer.count) else { return false }
        defer { X509_free(certificate) }
        return pair.withPointer { X509_check_private_key(certificate, $0) == 1 }
      }
    }
  }

  private static func parts(of bio: OpaquePointer) -> ([UInt8], Timestamp, Timestamp)? {
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

extension Certificate: ConciseStringConvertible {
  /// Size and kind of key.
  public var description: String {
    Concise.text("certificate of \(Concise.count(bytes.count, "byte"))", publicKey.map { "\($0)" })
  }
}

extension CertificateChain: ConciseStringConvertible {
  /// The time in which it is valid.
  public var description: String { "certificate chain, valid from \(notBefore) to \(notAfter)" }
}
