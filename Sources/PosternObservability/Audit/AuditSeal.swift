import PosternCrypto
public import PosternSupport

/// The seal of records: a plain hash, or a message authentication code with a key.
public struct AuditSeal: Sendable {
  /// The shortest key in bytes.
  public static let minimumKeyBytes = 32

  /// The hash before the first record.
  static let none = "none"

  /// The names of the algorithms, with which hashes begin.
  static let algorithms = ["sha256", "hmac-sha256"]

  /// A plain hash.
  static let plain = AuditSeal()

  /// The name of the algorithm, with which every hash begins: `sha256` or `hmac-sha256`.
  let algorithm: String
  private let key: HMACKey?

  private init() {
    algorithm = "sha256"
    key = nil
  }

  /// SHA-256, or with a `key` HMAC-SHA-256 (RFC 2104).
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
    return "\(algorithm):\(Hexadecimal.string(digest))"
  }
}

/// The number and hash of a record, to be noted elsewhere and verified later: `NUMBER:ALGORITHM:DIGITS`.
public struct AuditCheckpoint: Sendable, Hashable, CustomStringConvertible {
  /// The record's number, from 1.
  public let sequence: UInt64
  /// Its hash.
  public let hash: String

  /// A checkpoint of the given parts.
  public init(sequence: UInt64, hash: String) {
    self.sequence = sequence
    self.hash = hash
  }

  /// Parses the format of `description`; nil when `text` does not have it.
  public init?(_ text: String) {
    let parts = text.split(atByte: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let number = UInt64(parts[0]), number > 0, String(number) == parts[0] else { return nil }
    let hash = parts[1].split(atByte: ":", omittingEmptySubsequences: false)
    guard hash.count == 2, AuditSeal.algorithms.contains(String(hash[0])), hash[1].utf8.count == 64,
      hash[1].utf8.allSatisfy(Hexadecimal.isLowercaseDigit)
    else { return nil }
    self.init(sequence: number, hash: String(parts[1]))
  }

  /// `18207:hmac-sha256:52d0…`.
  public var description: String { "\(sequence):\(hash)" }
}
