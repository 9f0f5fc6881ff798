import PosternSupport
import SessionRecords

/// Writes records within each uid's allowance, and removes expired ones from time to time.
final class RecordWriter: Sendable {
  /// How many sessions, how many logins in progress and how many profiles one uid may have.
  static let maxRecords = 10_000
  /// How often expired records are removed, at most.
  static let purgeInterval = Duration.seconds(600)

  let store: any RecordStore
  /// How much one uid may store before nothing is added.
  let allowance: RecordAllowance
  private let clock: any EngineClock
  private let observer: (any SessionObserver)?
  private let purgedAt = Locked<MonotonicInstant?>(nil)

  init(store: any RecordStore, maxBytesPerUid: Int, clock: any EngineClock, observer: (any SessionObserver)?) {
    self.store = store
    allowance = RecordAllowance(count: Self.maxRecords, bytes: maxBytesPerUid)
    self.clock = clock
    self.observer = observer
  }

  /// How many bytes a session's tokens are expected to need beyond its reservation: where there is less, no grant is
  /// sent.
  var headroom: Int { min(16 << 10, allowance.bytes / 4) }

  /// Adds a record, and leaves so many bytes. When the store is full or the uid has too much, expired records are
  /// removed and the record is tried once more.
  func insert(_ record: StoredRecord, leaving headroom: Int = 0) async throws(SessionError) {
    purgeIfDue()
    var allowance = allowance
    allowance.bytes -= headroom
    do throws(StoreError) {
      return try await store.insert(record, within: allowance)
    } catch {
      guard error.kind == .unavailable || error.kind == .overdrawn else { throw SessionError(error) }
    }
    await purge()
    do throws(StoreError) {
      try await store.insert(record, within: allowance)
    } catch {
      throw SessionError(error)
    }
  }

  /// Replaces a record, with up to three retries while the store is unavailable.
  func replace(
    _ record: StoredRecord, under lease: RecordLease?, within allowance: RecordAllowance = .unlimited
  ) async throws(StoreError) {
    for pause in [Duration.milliseconds(50), .milliseconds(200), .seconds(1)] {
      do throws(StoreError) {
        return try await store.replace(record, under: lease, within: allowance)
      } catch {
        guard error.kind == .unavailable else { throw error }
        // After `unavailable` the write may have happened all the same.
        if let stored = try? await store.record(for: record.key), stored == record { return }
        try? await clock.sleep(for: pause)
      }
    }
    try await store.replace(record, under: lease, within: allowance)
  }

  /// Has the store remove expired records, in the background of a call that adds one: only additions make it grow.
  private func purgeIfDue() {
    let now = clock.monotonicNow
    let isDue = purgedAt.withLock { purgedAt in
      guard purgedAt.map({ $0 + Self.purgeInterval <= now }) ?? true else { return false }
      purgedAt = now
      return true
    }
    guard isDue else { return }
    // Done for all users: it counts as no user's work.
    Task { [self] in await CurrentPeer.$uid.withValue(nil) { await purge() } }
  }

  private func purge() async {
    do throws(StoreError) {
      while try await store.purge(expiredAt: clock.wallNow) > 0 {}
    } catch {
      observer?.observe(.troubled("what has expired cannot be removed from the store", detail: error.description))
    }
  }
}
