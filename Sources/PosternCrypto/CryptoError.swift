public import PosternSupport

/// The error of a cryptographic operation. More codes may be added; equality compares `code` only.
public struct CryptoError: Error, Sendable {
  /// A stable symbol for the cause.
  public struct Code: Sendable, Hashable, RawRepresentable {
    /// The stable symbol.
    public let rawValue: String
    /// The code with the given symbol.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The key material is malformed or inconsistent.
    public static let invalidKey = Code(rawValue: "invalid_key")
    /// The key is well-formed but too weak to be used at all.
    public static let weakKey = Code(rawValue: "weak_key")
    /// The kind of key or parameter is not supported here.
    public static let unsupported = Code(rawValue: "unsupported")
    /// An argument has an impossible length or value.
    public static let invalidInput = Code(rawValue: "invalid_input")
    /// An authentication tag, padding or wrapped key is wrong.
    public static let authenticationFailed = Code(rawValue: "authentication_failed")
    /// The library failed for another reason, such as lack of memory.
    public static let operationFailed = Code(rawValue: "operation_failed")
  }

  /// The cause.
  public let code: Code
  /// For people and logs: never holds key material or plaintext.
  public let message: String

  /// An error of the given parts.
  public init(code: Code, message: String) {
    self.code = code
    self.message = message
  }
}

extension CryptoError: Equatable {
  /// Same code.
  public static func == (left: CryptoError, right: CryptoError) -> Bool { left.code == right.code }
}

extension CryptoError: ConciseStringConvertible {
  /// `code: message`.
  public var description: String { "\(code.rawValue): \(message)" }
}

extension CryptoError.Code: ConciseStringConvertible {
  /// The symbol.
  public var description: String { rawValue }
}
