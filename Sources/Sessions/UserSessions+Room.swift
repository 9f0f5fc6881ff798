import PosternSupport
import SessionRecords

/// Room in the store: what one owner adds is bounded, and what has expired goes.
extension UserSessions {
  /// What one owner may take before nothing is added.
  var allowance: RecordAllowance { RecordAllowance(count: Self.maxRecords, bytes: maxOwnerBytes) }

  /// What a session's tokens are expected to need beyond its place: where there is less, no grant is sent.
  var headroom: Int { min(16 << 10, maxOwnerBytes / 4) }

  /// Lets the store forget what has expired, behind whoever makes a session: what nobody adds to does not grow.
  private func purgeNowAndThen() {
    let now = clock.monotonicNow
    let isDue = state.withLock { state in
      guard state.purgedAt.map({ $0 + Self.purgeInterval <= now }) ?? true else { return false }
      state.purgedAt = now
      return true
    }
    guard isDue else { return }
    // For everybody: it is nobody's turn.
    Task { [self] in await Requesting.$uid.withValue(nil) { await purge() } }
  }

  private func purge() async {
    do throws(StoreError) {
      while try await store.purge(expiredAt: clock.wallNow) > 0 {}
    } catch {
      observer?.observe(.troubled("what has expired cannot be removed from the store", detail: error.description))
    }
  }

  /// Adds a record, and leaves so many bytes; a store that is full, or an owner with too much, gets another try once
  /// what has expired is gone.
  func insert(_ record: StoredRecord, leaving headroom: Int = 0) async throws(SessionError) {
    purgeNowAndThen()
    var allowance = allowance
    allowance.bytes -= headroom
    do throws(StoreError) {
      return try await insert(record, within: allowance)
    } catch {
      guard error.kind == .unavailable || error.kind == .overdrawn else { throw SessionError(error) }
    }
    await purge()
    do throws(StoreError) {
      try await insert(record, within: allowance)
    } catch {
      throw SessionError(error)
    }
  }

  private func insert(_ record: StoredRecord, within allowance: RecordAllowance) async throws(StoreError) {
    try await store.insert(record, within: allowance)
    forgetChoices(of: record.owner)
  }
}
