import OAuthClient
import PosternSupport
import SessionRecords

/// Places in the store for sessions to be: what a grant brings is written where it has been seen that writing works.
extension UserSessions {
  /// How long a place is kept for a session that never came.
  private static let placeLife = Duration.seconds(86_400)

  /// Writes down that there will be a session.
  func reserve(
    _ contents: SessionContents, of handle: SessionHandle, owner: UInt32
  ) async throws(SessionError) -> StoredRecord {
    var contents = contents
    contents.isReserved = true
    let place = StoredRecord(
      key: handle.key, owner: owner, version: 1, expiresAt: clock.wallNow + Self.placeLife,
      contents: try storable(contents))
    try await insert(place, leaving: headroom)
    return place
  }

  /// No session came of it.
  func giveUp(_ place: StoredRecord) async {
    do throws(StoreError) {
      _ = try await store.remove(place.key)
    } catch {
      observer?.observe(.troubled("the place of a session cannot be given up", detail: error.description))
    }
  }

  /// Puts a new session into its place. One that is larger than what its owner may still keep is not kept: its tokens
  /// are revoked.
  func settle(
    _ contents: SessionContents, in place: StoredRecord, of handle: SessionHandle, madeOf answer: TokenRequests.Answer,
    at issuer: SessionIssuer
  ) async throws(SessionError) -> LiveSession {
    do throws(SessionError) {
      return try await fill(place, with: contents, of: handle, within: allowance)
    } catch {
      guard case .overloaded = error.kind else { throw error }
      await giveUp(place)
      revokeOrphaned(answer, issuer, of: place.owner)
      throw SessionError(.noRoom, "\(error.detail): the new one is not kept")
    }
  }

  /// Puts the session into its place. When the store fails it is kept in memory, and written when its owner next asks.
  private func fill(
    _ place: StoredRecord, with contents: SessionContents, of handle: SessionHandle, within allowance: RecordAllowance
  ) async throws(SessionError) -> LiveSession {
    let record = StoredRecord(
      key: place.key, owner: place.owner, version: place.version + 1, expiresAt: contents.purgeable(at: clock.wallNow),
      contents: try storable(contents))
    do throws(StoreError) {
      try await replace(record, under: nil, within: allowance)
    } catch {
      if error.kind == .unavailable { state.withLock { $0.unsaved.set(contents, for: place.key, of: place.owner) } }
      throw SessionError(error)
    }
    state.withLock { $0.unsaved.remove(place.key) }
    forgetChoices(of: place.owner)
    return keep(contents, of: handle, owner: place.owner, version: record.version)
  }

  /// The session that belongs into `place`, where it is in memory only: written now. Nil when there is none.
  func unsavedCreation(_ place: StoredRecord) async throws(SessionError) -> LiveSession? {
    guard let contents = state.withLock({ $0.unsaved[place.key] }), let handle = try? SessionHandle(contents.handle)
    else {
      return nil
    }
    // Its grant was used when there was room for it.
    return try await fill(place, with: contents, of: handle, within: .unlimited)
  }

  func storable(_ contents: SessionContents) throws(SessionError) -> Secret<[UInt8]> {
    do throws(StoreError) {
      return try contents.bytes()
    } catch {
      throw SessionError(error)
    }
  }

  /// Writes, a few times over if the store is out of order for a moment.
  func replace(
    _ record: StoredRecord, under lease: RecordLease?, within allowance: RecordAllowance = .unlimited
  ) async throws(StoreError) {
    for pause in [Duration.milliseconds(50), .milliseconds(200), .seconds(1)] {
      do throws(StoreError) {
        return try await store.replace(record, under: lease, within: allowance)
      } catch {
        guard error.kind == .unavailable else { throw error }
        // After `unavailable` a write may have happened all the same.
        if let stored = try? await store.record(for: record.key), stored == record { return }
        try? await clock.sleep(for: pause)
      }
    }
    try await store.replace(record, under: lease, within: allowance)
  }
}
