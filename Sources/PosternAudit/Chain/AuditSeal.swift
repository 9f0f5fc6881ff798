import PosternCrypto
public import PosternSupport

/// How records are sealed: a hash that everybody can compute, or an authentication code that takes the key.
public struct AuditSeal: Sendable {
  /// The shortest key in bytes: less could be guessed.
  public static let minimumKeyBytes = 32

  /// What comes before the first record: nothing.
  static let none = "none"

  /// What a hash may begin with.
  static let algorithms = ["sha256", "hmac-sha256"]

  /// A plain hash.
  static let plain = AuditSeal()

  /// `sha256` or `hmac-sha256`; it begins every hash.
  let algorithm: String
  private let key: HMACKey?

  private init() {
    algorithm = "sha256"
    key = nil
  }

  /// Without `key` SHA-256, with it HMAC-SHA-256 (RFC 2104).
  public init(key: Secret<[UInt8]>?) throws(AuditError) {
    guard let bytes = key?.reveal() else {
      self = .plain
      return
    }
    guard bytes.count >= Self.minimumKeyBytes else {
      throw AuditError("the key has \(bytes.count) bytes; at least \(Self.minimumKeyBytes) are needed")
    }
    algorithm = "hmac-sha256"
    do {
      self.key = try HMACKey(.sha256, key: SymmetricKey(bytes))
    } catch {
      throw AuditError("the key cannot be used")
    }
  }

  /// The hash of a record's text up to its `hash` member: the algorithm, a colon, lower-case hexadecimal digits.
  func hash(_ text: ArraySlice<UInt8>) -> String {
    let digest = key?.authenticate(text.span.bytes) ?? HashFunction.sha256.hash(text.span.bytes)
    return "\(algorithm):\(Self.hexadecimal(digest))"
  }

  /// Lower-case hexadecimal digits.
  static func hexadecimal(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}
