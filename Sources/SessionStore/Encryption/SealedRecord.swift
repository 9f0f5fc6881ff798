import PosternSupport
import SessionRecords

/// A record as it is stored: indexed fields unencrypted, the contents encrypted, everything authenticated.
struct SealedRecord: Sendable {
  var key: RecordKey
  var uid: UInt32
  var version: UInt64
  var expiresAt: Timestamp?
  /// Nonce and tag.
  var seal: [UInt8]
  var ciphertext: [UInt8]
}

extension RecordKey.Collection {
  /// Its number in stores. Never changes.
  var number: UInt8 {
    switch self {
    case .session: 1
    case .authorization: 2
    case .profile: 3
    case .registration: 4
    }
  }

  /// The collection of that number.
  init?(number: Int64) {
    guard let found = Self.allCases.first(where: { Int64($0.number) == number }) else { return nil }
    self = found
  }
}

extension FixedWidthInteger {
  /// Its bytes, most significant first.
  var bytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }
}
