import SessionRecords

/// A sum over all records of a store, updated with every write and checked at open: it reveals records that were reset
/// to an earlier state, removed or restored by hand, which the encryption of single records cannot.
///
/// The sum is the exclusive or of one keyed fingerprint for each record, and their count. It is stored encrypted: an
/// attacker who cannot see it cannot work towards it.
struct RecordManifest: Sendable, Equatable {
  private static let purpose = "postern manifest 1"
  private static let sumByteCount = 32

  private(set) var count: UInt64 = 0
  private var sum = [UInt8](repeating: 0, count: sumByteCount)

  /// The manifest of no records.
  init() {}

  /// Reads the stored manifest; nil when it was changed.
  init?(_ stored: [UInt8], cipher: RecordCipher) {
    guard let bytes = cipher.unwrap(stored, for: Self.purpose), bytes.count == Self.sumByteCount + 8 else { return nil }
    sum = Array(bytes.prefix(Self.sumByteCount))
    count = bytes[Self.sumByteCount...].reduce(0) { $0 << 8 | UInt64($1) }
  }

  func stored(by cipher: RecordCipher) throws(StoreError) -> [UInt8] {
    try cipher.wrap(sum + count.bytes, for: Self.purpose)
  }

  mutating func add(_ fingerprint: [UInt8]) {
    count &+= 1
    mix(fingerprint)
  }

  mutating func remove(_ fingerprint: [UInt8]) {
    count &-= 1
    mix(fingerprint)
  }

  private mutating func mix(_ fingerprint: [UInt8]) {
    for index in 0..<Self.sumByteCount { sum[index] ^= fingerprint[index] }
  }
}
