import PosternCrypto
public import PosternSupport

/// The share of a store's capacity for used values that a use counts for: a uid's, and in it that of one purpose.
public struct SpendingShare: Sendable, Hashable, ConciseStringConvertible {
  /// The uid.
  public let uid: UInt32
  /// The purpose, by a part of the hash of its name: two that are the same number share what they may have.
  public let part: UInt32

  /// The share of `uid` for the purpose `part`, such as the API whose clients' proofs are used up.
  public init(uid: UInt32, part: String) {
    self.init(uid: uid, part: HashFunction.sha256.hash(Array(part.utf8)).prefix(4).reduce(0) { $0 << 8 | UInt32($1) })
  }

  package init(uid: UInt32, part: UInt32) {
    self.uid = uid
    self.part = part
  }

  /// `part 2271560481 of uid 1000`.
  public var description: String { "part \(part) of uid \(uid)" }
}

/// Values that are good for one use, as of when they were used, each until it expires by itself.
///
/// Bounded: one that finds no capacity is not recorded, and none is dropped before its end, since it could be used
/// again. Uids with many leave capacity for one who comes later, and so do the parts of one uid (`FairShare`). A value
/// without locks.
package struct SpentValues: Sendable {
  /// A value's identity: the first bytes of a hash.
  package struct Identity: Hashable, Sendable {
    private let high: UInt64
    private let low: UInt64

    package static let byteCount = 16

    /// The identity of a value by its hash; nil for fewer bytes than a hash has.
    package init?(_ hash: [UInt8]) {
      guard hash.count >= Self.byteCount else { return nil }
      (high, low) = hash.withUnsafeBytes { bytes in
        (bytes.loadUnaligned(as: UInt64.self), bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
      }
    }

    package var bytes: [UInt8] {
      withUnsafeBytes(of: high) { Array($0) } + withUnsafeBytes(of: low) { Array($0) }
    }

    /// A part of a hash distinguishes values as well as all of it would.
    package func hash(into hasher: inout Hasher) { hasher.combine(high) }
  }

  private struct Entry {
    let share: SpendingShare
    let expiry: Timestamp
  }

  /// How many values there are at most.
  package static let defaultCapacity = 1_000_000
  /// The latest expiry from now on: no value needs a longer record.
  package static let maxLife = Duration.seconds(3600)

  private let capacity: Int
  private var entries: [Identity: Entry] = [:]
  private var counts: [UInt32: Int] = [:]
  private var partCounts: [SpendingShare: Int] = [:]
  /// The values by the second of their expiry.
  private var ends: [Int64: [Identity]] = [:]
  private var purgedAt = Int64.min

  package init(capacity: Int = defaultCapacity) { self.capacity = capacity }

  package var count: Int { entries.count }

  /// The identity of a value by its hash; `invalid` for fewer bytes than a hash has.
  package static func identity(_ hash: [UInt8]) throws(StoreError) -> Identity {
    guard let identity = Identity(hash) else { throw StoreError(.invalid, "the hash of a used value is too short") }
    return identity
  }

  /// Records the use of a value. False when it has been used before; `unavailable`, as an overload, without capacity.
  package mutating func spend(
    _ value: Identity, by share: SpendingShare, until expiry: Timestamp, at now: Timestamp
  ) throws(StoreError) -> Bool {
    purge(at: now)
    if let entry = entries[value], entry.expiry > now { return false }
    // Records of that time may have been removed: the call has waited for too long, or the clock was set back.
    guard expiry.secondsSinceEpoch >= purgedAt else {
      throw StoreError(.unavailable, "whether a value was used before is not known any more: its time has passed")
    }
    guard expiry - now <= Self.maxLife else { throw StoreError(.invalid, "a used value that expires too late") }
    guard hasCapacity(for: share) else {
      throw StoreError(.unavailable, "the store has no capacity for more used values of this user", isOverload: true)
    }
    restore(value, by: share, until: expiry)
    return true
  }

  private func hasCapacity(for share: SpendingShare) -> Bool {
    let remainder = FairShare.remainder(counts[share.uid] ?? 0, free: capacity - entries.count)
    return FairShare.allows(partCounts[share] ?? 0, free: remainder)
  }

  /// Records a use that was recorded before, whatever there is. The next use drops it if it has expired.
  package mutating func restore(_ value: Identity, by share: SpendingShare, until expiry: Timestamp) {
    remove(value)
    entries[value] = Entry(share: share, expiry: expiry)
    counts[share.uid, default: 0] += 1
    partCounts[share, default: 0] += 1
    ends[expiry.secondsSinceEpoch, default: []].append(value)
  }

  /// Takes back a use that could not be completed.
  package mutating func remove(_ value: Identity) {
    guard let entry = entries.removeValue(forKey: value) else { return }
    let left = (counts[entry.share.uid] ?? 1) - 1
    counts[entry.share.uid] = left > 0 ? left : nil
    let leftOfPart = (partCounts[entry.share] ?? 1) - 1
    partCounts[entry.share] = leftOfPart > 0 ? leftOfPart : nil
  }

  /// Removes what has expired, once a second. What was taken back before and used again is in two lists.
  private mutating func purge(at now: Timestamp) {
    let second = now.secondsSinceEpoch
    guard second > purgedAt else { return }
    purgedAt = second
    for end in ends.keys where end < second {
      for value in ends.removeValue(forKey: end) ?? [] {
        if let entry = entries[value], entry.expiry.secondsSinceEpoch < second { remove(value) }
      }
    }
  }
}
