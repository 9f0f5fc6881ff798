package import PosternSupport

/// Writes records within each uid's allowance, and removes expired ones from time to time.
///
/// Logins in progress make room for newer ones, and in bytes for every record of their uid: whoever can begin logins
/// without end, as the browsers of a web application can, shortens the time for each, and keeps nobody from logging in.
package final class RecordWriter: Sendable {
  /// How many sessions, how many logins in progress and how many profiles one uid may have.
  static let maxRecords = 10_000
  /// How often expired records are removed, at most.
  static let purgeInterval = Duration.seconds(600)

  /// Reports trouble: a text, and its details.
  package typealias Report = @Sendable (String, String) -> Void

  package let store: any RecordStore
  /// How much one uid may store before nothing is added.
  package let allowance: RecordAllowance
  private let clock: any EngineClock
  private let purgedAt = Locked<MonotonicInstant?>(nil)

  package init(store: any RecordStore, maxBytesPerUid: Int, clock: any EngineClock) {
    self.store = store
    allowance = RecordAllowance(count: Self.maxRecords, bytes: maxBytesPerUid, replaceable: .authorization)
    self.clock = clock
  }

  /// How many bytes a session's tokens are expected to need beyond its reservation: where there is less, no grant is
  /// sent.
  package var headroom: Int { min(16 << 10, allowance.bytes / 4) }

  /// The bytes of the allowance that new sessions leave to logins in progress: without them no login could begin, or
  /// each would replace another one.
  package var loginBytes: Int { allowance.bytes / 8 }

  /// Adds a record, and leaves so many bytes of the allowance, which is a uid's where none is given. When the store is
  /// full or the uid has too much, expired records are removed and the record is tried once more: only then does it
  /// replace others, if it `mayReplace`, and never `spared`. `payer` is the uid that waits.
  package func insert(
    _ record: StoredRecord, leaving headroom: Int = 0, within given: RecordAllowance? = nil, mayReplace: Bool = true,
    sparing spared: RecordKey? = nil, by payer: UInt32, _ report: @escaping Report
  ) async throws(StoreError) {
    purgeIfDue(report)
    var allowance = given ?? allowance
    allowance.bytes -= headroom
    if !mayReplace { allowance.replaceable = nil }
    allowance.spared = spared
    var first = allowance
    first.replaceable = nil
    let isOverdrawn: Bool
    do throws(StoreError) {
      return try await store.insert(record, within: first)
    } catch {
      guard error.kind == .unavailable || error.kind == .overdrawn else { throw error }
      isOverdrawn = error.kind == .overdrawn
    }
    let purged = await purge(by: payer, report)
    try await store.insert(record, within: allowance)
    if isOverdrawn, purged == 0, allowance.replaceable != nil {
      report(
        "logins in progress are replaced by newer ones",
        "user \(record.uid) has as many as it may have: very many logins are begun and not completed")
    }
  }

  /// Replaces a record, with up to three retries while the store is unavailable.
  package func replace(
    _ record: StoredRecord, under lease: RecordLease?, within allowance: RecordAllowance = .unlimited,
    by payer: UInt32
  ) async throws(StoreError) {
    for pause in [Duration.milliseconds(50), .milliseconds(200), .seconds(1)] {
      do throws(StoreError) {
        return try await store.replace(record, under: lease, within: allowance)
      } catch {
        guard error.kind == .unavailable else { throw error }
        // After `unavailable` the write may have happened all the same.
        if let stored = try? await store.record(for: record.key, by: payer), stored == record { return }
        try? await clock.sleep(for: pause)
      }
    }
    try await store.replace(record, under: lease, within: allowance)
  }

  /// Has the store remove expired records, in the background of a call that adds one: only additions make it grow.
  private func purgeIfDue(_ report: @escaping Report) {
    let now = clock.monotonicNow
    let isDue = purgedAt.withLock { purgedAt in
      guard purgedAt.map({ $0 + Self.purgeInterval <= now }) ?? true else { return false }
      purgedAt = now
      return true
    }
    guard isDue else { return }
    // Done for all users: it counts as no user's work.
    Task { [self] in await purge(by: PeerID.process.uid, report) }
  }

  /// Returns how many were removed.
  @discardableResult
  private func purge(by payer: UInt32, _ report: Report) async -> Int {
    var purged = 0
    do throws(StoreError) {
      while true {
        let count = try await store.purge(expiredAt: clock.wallNow, by: payer)
        guard count > 0 else { return purged }
        purged += count
      }
    } catch {
      report("what has expired cannot be removed from the store", error.description)
      return purged
    }
  }
}
