import Support

/// Room in the store: what one owner adds is bounded, and what has expired goes.
extension UserSessions {
  /// Why an owner may add nothing.
  private enum Shortage {
    case records
    case bytes

    var error: SessionError {
      switch self {
      case .records:
        SessionError(.overloaded(retryAfter: nil), "this peer has as many sessions or logins as it may have")
      case .bytes:
        SessionError(.overloaded(retryAfter: nil), "the sessions of this peer hold as many bytes as they may")
      }
    }
  }

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

  /// Adds a record; a store that is full, or an owner with too much, gets another try once what has expired is gone.
  func insert(_ record: StoredRecord) async throws(SessionError) {
    purgeNowAndThen()
    do throws(StoreError) {
      if try await insertIfRoom(record) == nil { return }
    } catch {
      guard error.kind == .unavailable else { throw SessionError(error) }
    }
    await purge()
    let shortage: Shortage?
    do throws(StoreError) {
      shortage = try await insertIfRoom(record)
    } catch {
      throw SessionError(error)
    }
    if let shortage { throw shortage.error }
  }

  private func insertIfRoom(_ record: StoredRecord) async throws(StoreError) -> Shortage? {
    let usage = try await store.usage(of: record.owner)
    guard usage.count(in: record.key.collection) < Self.maxRecords else { return .records }
    guard usage.bytes + record.contents.byteCount <= maxOwnerBytes else { return .bytes }
    try await store.insert(record)
    forgetChoices(of: record.owner)
    return nil
  }
}
