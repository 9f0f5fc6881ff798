import CPosternOpenSSL

/// The three sizes of AES keys.
public enum AESKeySize: Sendable, Hashable, CaseIterable {
  /// 128 bits.
  case bits128
  /// 192 bits.
  case bits192
  /// 256 bits.
  case bits256

  /// The length of a key in bytes.
  public var byteCount: Int {
    switch self {
    case .bits128: 16
    case .bits192: 24
    case .bits256: 32
    }
  }

  /// The size of `key`; `invalidKey` when no AES key has it.
  init(of key: SymmetricKey) throws(CryptoError) {
    guard let size = Self.allCases.first(where: { $0.byteCount == key.byteCount }) else {
      throw CryptoError(code: .invalidKey, message: "AES key of the wrong length")
    }
    self = size
  }
}
