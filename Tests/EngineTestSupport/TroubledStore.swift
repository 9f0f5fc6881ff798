package import AuthEngine
package import PosternSupport
package import PosternTestSupport

/// A store in memory whose writes fail, or whose reads wait, as a test requires.
package final class TroubledStore: RecordStore {
  private let store = MemoryRecordStore()
  private let closes: Bool
  private let failures = Locked(0)
  private let gate = Locked<Gate?>(nil)

  private let lists = Locked(0)

  private let largest = Locked(0)

  /// With `closes` false it goes on after `close`, for the next process to use.
  package init(closes: Bool = true) { self.closes = closes }

  /// The most records that were read at a time.
  package var largestListing: Int { largest.withLock { $0 } }

  /// How often records of an owner were read.
  package var listings: Int { lists.withLock { $0 } }

  private let replacementGate = Locked<Gate?>(nil)

  private let listingGate = Locked<Gate?>(nil)

  /// Readings of an owner's records wait at the gate, then get what is there.
  package func holdListings(at gate: Gate?) { listingGate.withLock { $0 = gate } }

  /// The next replacement waits at the gate.
  package func blockNextReplacement(at gate: Gate) { replacementGate.withLock { $0 = gate } }

  /// The next `count` replacements fail as a full disk does.
  package func failReplacements(_ count: Int) { failures.withLock { $0 = count } }

  private let rejectsInsertions = Locked(false)

  /// From now on nothing is added, or everything again.
  package func failInsertions(_ fails: Bool = true) { rejectsInsertions.withLock { $0 = fails } }

  private let profileConflicts = Locked(0)

  /// The next `count` insertions of profiles fail as if another process had inserted the profile meanwhile.
  package func failProfiles(_ count: Int) { profileConflicts.withLock { $0 = count } }

  private let rejectsReads = Locked(false)

  /// From now on nothing can be read, or everything again.
  package func failReads(_ fails: Bool) { rejectsReads.withLock { $0 = fails } }

  /// Reads get their record, then wait at the gate.
  package func blockReads(at gate: Gate?) { self.gate.withLock { $0 = gate } }

  package func record(for key: RecordKey, by payer: UInt32) async throws(StoreError) -> StoredRecord? {
    guard !rejectsReads.withLock({ $0 }) else { throw StoreError(.unavailable, "the server is gone") }
    let record = try await store.record(for: key, by: payer)
    await gate.withLock { $0 }?.pass()
    return record
  }

  package func records(
    in collection: RecordKey.Collection, ownedBy uid: UInt32, after position: Int64, atMost count: Int,
    by payer: UInt32
  ) async throws(StoreError) -> RecordPage {
    lists.withLock { $0 += 1 }
    await listingGate.withLock { $0 }?.pass()
    let page = try await store.records(in: collection, ownedBy: uid, after: position, atMost: count, by: payer)
    largest.withLock { $0 = max($0, page.entries.count) }
    return page
  }

  package func owners(in collection: RecordKey.Collection, by payer: UInt32) async throws(StoreError) -> Set<UInt32> {
    guard !rejectsReads.withLock({ $0 }) else { throw StoreError(.unavailable, "the server is gone") }
    return try await store.owners(in: collection, by: payer)
  }

  package func insert(_ record: StoredRecord, within allowance: RecordAllowance) async throws(StoreError) {
    guard !rejectsInsertions.withLock({ $0 }) else { throw StoreError(.unavailable, "no space left") }
    if record.key.collection == .profile {
      let conflicts = profileConflicts.withLock { count in
        defer { count = max(0, count - 1) }
        return count > 0
      }
      guard !conflicts else { throw StoreError(.conflict, "another process was first") }
    }
    try await store.insert(record, within: allowance)
  }

  package func replace(
    _ record: StoredRecord, under lease: RecordLease?, within allowance: RecordAllowance
  ) async throws(StoreError) {
    let fails = failures.withLock { count in
      defer { count = max(0, count - 1) }
      return count > 0
    }
    let blocking = replacementGate.withLock { gate in
      defer { gate = nil }
      return gate
    }
    await blocking?.pass()
    guard !fails else { throw StoreError(.unavailable, "no space left") }
    try await store.replace(record, under: lease, within: allowance)
  }

  package func remove(_ key: RecordKey, by payer: UInt32) async throws(StoreError) -> Bool {
    try await store.remove(key, by: payer)
  }

  private let removals = Locked<Int?>(nil)

  /// Records are taken `count` times, and then no more; nil: always.
  package func failRemovals(after count: Int?) { removals.withLock { $0 = count } }

  package func take(_ key: RecordKey, by payer: UInt32) async throws(StoreError) -> StoredRecord? {
    let fails = removals.withLock { left in
      guard let count = left else { return false }
      left = max(0, count - 1)
      return count == 0
    }
    guard !fails else { throw StoreError(.unavailable, "no space left") }
    return try await store.take(key, by: payer)
  }

  private let leaseGate = Locked<Gate?>(nil)

  /// The next lease is granted when the gate is open.
  package func blockNextLease(at gate: Gate) { leaseGate.withLock { $0 = gate } }

  package func lease(_ key: RecordKey, for duration: Duration, by payer: UInt32) async throws(StoreError)
    -> RecordLease?
  {
    let blocking = leaseGate.withLock { gate in
      defer { gate = nil }
      return gate
    }
    await blocking?.pass()
    return try await store.lease(key, for: duration, by: payer)
  }

  package func release(_ lease: RecordLease, by payer: UInt32) async { await store.release(lease, by: payer) }

  package func count(in collection: RecordKey.Collection) async throws(StoreError) -> Int {
    try await store.count(in: collection)
  }

  package func usage(of uid: UInt32, by payer: UInt32) async throws(StoreError) -> RecordUsage {
    try await store.usage(of: uid, by: payer)
  }

  package func purge(expiredAt now: Timestamp, by payer: UInt32) async throws(StoreError) -> Int {
    try await store.purge(expiredAt: now, by: payer)
  }

  package func close() async { if closes { await store.close() } }
}
