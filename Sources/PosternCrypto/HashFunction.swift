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

  // nonisolated(unsafe): an EVP_MD is immutable once fetched, and these are never freed.
  nonisolated(unsafe) private static let fetchedSHA1 = EVP_MD_fetch(nil, "SHA1", nil)
  // As above.
  nonisolated(unsafe) private static let fetchedSHA256 = EVP_MD_fetch(nil, "SHA2-256", nil)
  // As above.
  nonisolated(unsafe) private static let fetchedSHA384 = EVP_MD_fetch(nil, "SHA2-384", nil)
  // As above.
  nonisolated(unsafe) private static let fetchedSHA512 = EVP_MD_fetch(nil, "SHA2-512", nil)
}

extension HashFunction {
  /// The hash of `kind` and `parts`, each part preceded by its length, so that different lists of parts never give the
  /// same input.
  public func hash(_ kind: String, of parts: [String]) -> [UInt8] {
    hash(Array((kind + parts.map { ":\($0.utf8.count):\($0)" }.joined()).utf8))
  }
}

/// SHAKE256 (FIPS 202), a hash function with an output of any length.
public enum SHAKE256 {
  /// `count` bytes, at least one, of output for `message`.
  public static func hash(_ message: RawSpan, byteCount count: Int) -> [UInt8] {
    precondition(count > 0, "the output must have at least one byte")
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, used in
      let succeeded = ErrorQueue.discarding {
        guard let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        return message.withUnsafeBytes { message in
          EVP_DigestInit_ex(context, EVP_shake256(), nil) == 1
            && EVP_DigestUpdate(context, message.baseAddress, message.count) == 1
            && EVP_DigestFinalXOF(context, buffer.baseAddress, count) == 1
        }
      }
      precondition(succeeded, "OpenSSL cannot hash")
      used = count
    }
  }
}
