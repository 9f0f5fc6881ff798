import CPosternOpenSSL
public import PosternSupport

/// HMAC (RFC 2104) over any number of pieces.
public struct HMAC: ~Copyable {
  private let context: OpaquePointer
  private let hash: HashFunction

  /// Starts an authentication code under `key`, which must not be empty.
  public init(_ hash: HashFunction, key: SymmetricKey) throws(CryptoError) {
    context = try Self.started(hash, key: key)
    self.hash = hash
  }

  /// Starts with a copy of `prepared`, which OpenSSL has set up with a key.
  init(_ hash: HashFunction, copying prepared: OpaquePointer) {
    guard let copy = EVP_MAC_CTX_dup(prepared) else { preconditionFailure("OpenSSL cannot authenticate") }
    context = copy
    self.hash = hash
  }

  deinit { EVP_MAC_CTX_free(context) }

  /// Adds a piece of the message.
  public mutating func update(_ piece: RawSpan) {
    let succeeded = ErrorQueue.discarding {
      piece.withUnsafeBytes { $0.isEmpty || EVP_MAC_update(context, $0.bytes, $0.count) == 1 }
    }
    precondition(succeeded, "OpenSSL cannot authenticate")
  }

  /// The authentication code of all pieces.
  public consuming func finalize() -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: hash.byteCount) { buffer, count in
      var size = 0
      let succeeded = ErrorQueue.discarding { EVP_MAC_final(context, buffer.baseAddress, &size, buffer.count) == 1 }
      precondition(succeeded, "OpenSSL cannot authenticate")
      count = size
    }
  }

  /// The authentication code of one message.
  public static func authenticate(
    _ message: RawSpan, using hash: HashFunction, key: SymmetricKey
  ) throws(CryptoError) -> [UInt8] {
    var code = try HMAC(hash, key: key)
    code.update(message)
    return code.finalize()
  }

  static func started(_ hash: HashFunction, key: SymmetricKey) throws(CryptoError) -> OpaquePointer {
    guard key.byteCount > 0 else { throw CryptoError(code: .weakKey, message: "empty HMAC key") }
    return try ErrorQueue.checked(.operationFailed, "HMAC") {
      guard let context = EVP_MAC_CTX_new(fetched) else { return nil }
      var parameters = [
        OSSL_PARAM_construct_utf8_string(
          ParameterName.macDigest.characters, UnsafeMutablePointer(mutating: hash.name.characters), 0),
        OSSL_PARAM_construct_end(),
      ]
      let started = key.withUnsafeBytes { EVP_MAC_init(context, $0.bytes, $0.count, &parameters) }
      guard started == 1 else {
        EVP_MAC_CTX_free(context)
        return nil
      }
      return context
    }
  }

  // nonisolated(unsafe): an EVP_MAC is immutable once fetched, and this one is never freed.
  nonisolated(unsafe) private static let fetched = EVP_MAC_fetch(nil, "HMAC", nil)
}

/// A key for HMAC (RFC 2104), prepared once for any number of messages: for OpenSSL, setting up a key takes several
/// times as long as copying a context that has one.
public final class HMACKey: @unchecked Sendable {
  // Sendable because the context is only copied, which does not change it.
  private let prepared: OpaquePointer
  private let hash: HashFunction

  /// A key for codes made with `hash`; it must not be empty.
  public init(_ hash: HashFunction, key: SymmetricKey) throws(CryptoError) {
    prepared = try HMAC.started(hash, key: key)
    self.hash = hash
  }

  deinit { EVP_MAC_CTX_free(prepared) }

  /// The authentication code of one message.
  public func authenticate(_ message: RawSpan) -> [UInt8] {
    var code = HMAC(hash, copying: prepared)
    code.update(message)
    return code.finalize()
  }
}

extension HMACKey: ConciseStringConvertible {
  /// The hash function: never key material.
  public var description: String { "\(hash) HMAC key" }
}
