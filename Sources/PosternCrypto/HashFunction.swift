import CPosternOpenSSL

/// A hash function of fixed output length.
public enum HashFunction: Sendable, Hashable, CaseIterable {
  /// SHA-1: broken for signatures; here only for `x5t` thumbprints and RSA-OAEP, which do not need collision
  /// resistance.
  case insecureSHA1
  /// SHA-256.
  case sha256
  /// SHA-384.
  case sha384
  /// SHA-512.
  case sha512

  /// The length of its output in bytes.
  public var byteCount: Int {
    switch self {
    case .insecureSHA1: 20
    case .sha256: 32
    case .sha384: 48
    case .sha512: 64
    }
  }

  /// The hash of `message`.
  public func hash(_ message: RawSpan) -> [UInt8] {
    var hash = [UInt8](repeating: 0, count: byteCount)
    let succeeded = ErrorQueue.discarding {
      message.withUnsafeBytes { EVP_Digest($0.baseAddress, $0.count, &hash, nil, pointer, nil) == 1 }
    }
    precondition(succeeded, "OpenSSL cannot hash")
    return hash
  }

  /// The hash of `message`.
  public func hash(_ message: [UInt8]) -> [UInt8] { hash(message.span.bytes) }

  /// The fetched implementation. Fetching once saves a look-up under a lock at every use.
  var pointer: OpaquePointer? {
    switch self {
    case .insecureSHA1: Self.fetchedSHA1
    case .sha256: Self.fetchedSHA256
    case .sha384: Self.fetchedSHA384
    case .sha512: Self.fetchedSHA512
    }
  }

  /// OpenSSL's name.
  var name: StaticString {
    switch self {
    case .insecureSHA1: "SHA1"
    case .sha256: "SHA2-256"
    case .sha384: "SHA2-384"
    case .sha512: "SHA2-512"
    }
  }

  // Unsafe only in name: an EVP_MD is immutable once fetched, and these are never freed.
  nonisolated(unsafe) private static let fetchedSHA1 = EVP_MD_fetch(nil, "SHA1", nil)
  // As above.
  nonisolated(unsafe) private static let fetchedSHA256 = EVP_MD_fetch(nil, "SHA2-256", nil)
  // As above.
  nonisolated(unsafe) private static let fetchedSHA384 = EVP_MD_fetch(nil, "SHA2-384", nil)
  // As above.
  nonisolated(unsafe) private static let fetchedSHA512 = EVP_MD_fetch(nil, "SHA2-512", nil)
}
