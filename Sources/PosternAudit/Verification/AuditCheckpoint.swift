import PosternSupport

/// A record as it was noted down elsewhere, to be found again later: `NUMBER:ALGORITHM:DIGITS`.
public struct AuditCheckpoint: Sendable, Hashable, CustomStringConvertible {
  /// The record's number, from 1.
  public let sequence: UInt64
  /// Its hash.
  public let hash: String

  /// The record of that number and hash.
  public init(sequence: UInt64, hash: String) {
    self.sequence = sequence
    self.hash = hash
  }

  /// Reads what `description` gives; nil when `text` is nothing of the kind.
  public init?(_ text: String) {
    let parts = text.split(atByte: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let number = UInt64(parts[0]), number > 0, String(number) == parts[0] else { return nil }
    let hash = parts[1].split(atByte: ":", omittingEmptySubsequences: false)
    guard hash.count == 2, AuditSeal.algorithms.contains(String(hash[0])), hash[1].utf8.count == 64,
      hash[1].utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
    else { return nil }
    self.init(sequence: number, hash: String(parts[1]))
  }

  /// `18207:hmac-sha256:52d0…`.
  public var description: String { "\(sequence):\(hash)" }
}
