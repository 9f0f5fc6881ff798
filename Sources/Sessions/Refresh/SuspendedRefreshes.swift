import OAuthClient
import PosternSupport
import SessionRecords

/// A refresh that waits for its user.
struct SuspendedRefresh: Sendable {
  let authorization: SuspendedAuthorization
  /// Until when it can be continued: as long as the access manager keeps a transaction.
  let until: MonotonicInstant
  /// Whether the user has done what was requested.
  var isReleased = false
}

/// Refreshes that wait for what the access manager has requested of their users.
final class SuspendedRefreshes: Sendable {
  /// How many of one session's refreshes may wait for advice.
  private static let maxOfOneSession = 4

  let entries = Locked(FairCache<UInt32, RecordKey, [SuspendedRefresh]>(capacity: 512))

  /// The refresh of `slot` that waits for its user, or is to be continued now: that one is removed.
  func next(of live: LiveSession, _ slot: TokenSlot, at now: MonotonicInstant) -> SuspendedRefresh? {
    entries.withLock { entries in
      var suspended = (entries[live.handle.key] ?? []).filter {
        $0.until > now && $0.authorization.token.reveal() == live.contents.signOn.token
      }
      defer { Self.set(suspended, of: live, in: &entries) }
      guard let index = suspended.firstIndex(where: { $0.authorization.slot == slot }) else { return nil }
      return suspended[index].isReleased ? suspended.remove(at: index) : suspended[index]
    }
  }

  /// Keeps the refresh of the authorization's slot until its user has done what is requested.
  func hold(_ authorization: SuspendedAuthorization, of live: LiveSession, at now: MonotonicInstant) {
    let refresh = SuspendedRefresh(authorization: authorization, until: now + AccessManager.usualJourneyLife)
    entries.withLock { entries in
      var suspended = entries[live.handle.key] ?? []
      suspended.removeAll { $0.authorization.slot == authorization.slot }
      Self.set(suspended.suffix(Self.maxOfOneSession - 1) + [refresh], of: live, in: &entries)
    }
  }

  /// Releases what waits for one of `advices`; its slot.
  func release(_ advices: [PolicyAdvice], of handle: SessionHandle, at now: MonotonicInstant) -> TokenSlot? {
    change(by: advices, of: handle, at: now) { $0.isReleased = true }
  }

  /// Removes what waits for one of `advices`: the next call that needs the token requests it again.
  func forget(_ advices: [PolicyAdvice], of handle: SessionHandle, at now: MonotonicInstant) {
    _ = change(by: advices, of: handle, at: now, nil)
  }

  func remove(_ handle: SessionHandle) { entries.withLock { $0.remove(handle.key) } }

  /// Whether nothing can be refreshed before the session's user has done something.
  func waitsForUser(_ handle: SessionHandle, at now: MonotonicInstant) -> Bool {
    entries.withLock { $0[handle.key] }?.contains { $0.until > now && !$0.isReleased } ?? false
  }

  /// Whether the refresh of `slot` was released and has not been continued.
  func isReleased(_ slot: TokenSlot, of handle: SessionHandle) -> Bool {
    entries.withLock { $0[handle.key] }?.contains { $0.authorization.slot == slot && $0.isReleased } ?? false
  }

  private func change(
    by advices: [PolicyAdvice], of handle: SessionHandle, at now: MonotonicInstant,
    _ change: ((inout SuspendedRefresh) -> Void)?
  ) -> TokenSlot? {
    entries.withLock { entries in
      entries.change(handle.key) { suspended in
        guard let index = suspended.firstIndex(where: { $0.until > now && $0.authorization.waits(for: advices) }) else {
          return nil
        }
        let slot = suspended[index].authorization.slot
        if let change { change(&suspended[index]) } else { suspended.remove(at: index) }
        return slot
      } ?? nil
    }
  }

  private static func set(
    _ suspended: [SuspendedRefresh], of live: LiveSession,
    in entries: inout FairCache<UInt32, RecordKey, [SuspendedRefresh]>
  ) {
    if suspended.isEmpty {
      entries.remove(live.handle.key)
    } else {
      entries.set(suspended, for: live.handle.key, of: live.uid)
    }
  }
}

extension SuspendedAuthorization {
  fileprivate func waits(for advices: [PolicyAdvice]) -> Bool {
    self.advices.contains { own in
      advices.contains { $0.type.hasSameBytes(as: own.type) && $0.value.hasSameBytes(as: own.value) }
    }
  }
}
