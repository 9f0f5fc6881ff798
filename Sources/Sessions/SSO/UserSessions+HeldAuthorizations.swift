package import AccessManagement
package import OAuthClient
import PosternSupport

/// A renewal that waits for its user.
struct HeldRenewal: Sendable {
  let authorization: HeldAuthorization
  /// Until when it is of use: as long as the access manager keeps a transaction.
  let until: MonotonicInstant
  /// Whether the user has done what was asked for.
  var isReleased = false
}

extension UserSessions {
  /// How many of one session's renewals may wait for advice.
  private static let maxHeld = 4

  /// Another token by single sign-on. What the access manager holds up is asked for once: until its user has done what
  /// was asked for, everybody who needs the token hears of the same advice; then the very request goes on.
  func authorizeOnce(
    _ live: LiveSession, _ slot: TokenSlot, _ issuer: SessionIssuer, _ trace: TraceContext?
  ) async throws(RenewalFault) -> Renewal {
    let slot = signOnSlot(of: live, wanted: slot)
    let key = live.handle.key
    let now = clock.monotonicNow
    let known = state.withLock { state -> HeldRenewal? in
      var held = (state.held[key] ?? []).filter {
        $0.until > now && $0.authorization.token.reveal() == live.contents.ssoToken
      }
      defer { state.hold(held, of: live) }
      guard let index = held.firstIndex(where: { $0.authorization.slot == slot }) else { return nil }
      return held[index].isReleased ? held.remove(at: index) : held[index]
    }
    if let known, !known.isReleased { throw RenewalFault(SessionError(known.authorization)) }
    do throws(RenewalFault) {
      return try await authorizeAgain(live, slot, issuer, releasing: known?.authorization, trace)
    } catch {
      if case .adviceRequired(let authorization) = error.error.kind {
        let renewal = HeldRenewal(
          authorization: authorization, until: clock.monotonicNow + AccessManager.usualJourneyLife)
        state.withLock { state in
          var held = state.held[key] ?? []
          held.removeAll { $0.authorization.slot == slot }
          state.hold(held.suffix(Self.maxHeld - 1) + [renewal], of: live)
        }
      }
      throw error
    }
  }

  /// The user has done what `advices` ask for: what of the session's was held up by them goes on. False when nothing
  /// was.
  package func release(
    _ advices: [PolicyAdvice], of handle: SessionHandle, ownedBy owner: UInt32, at issuer: SessionIssuer,
    trace: TraceContext?
  ) async throws(SessionError) -> Bool {
    guard let slot = changeHeld(by: advices, of: handle, { $0.isReleased = true }) else { return false }
    let live = try await live(handle, ownedBy: owner)
    let wanted = TokenRequirement(slot: slot, rejected: live.tokens[slot], minimumLife: nil)
    for _ in 0..<3 {
      let run = try await run(handle, wanted, issuer, trace)
      // A run that had begun before this one's turn has not gone on with anything.
      if case .failure(let error) = run.outcome, case .adviceRequired = error.kind, isHeld(handle, slot) { continue }
      _ = try run.outcome.get()
      if !isHeld(handle, slot) { break }
    }
    return true
  }

  /// Nothing came of `advices`: whoever needs the token next asks anew.
  package func forgetHeld(by advices: [PolicyAdvice], of handle: SessionHandle) {
    _ = changeHeld(by: advices, of: handle, nil)
  }

  /// Whether nothing can be renewed before the session's user has done something.
  func waitsForUser(_ live: LiveSession, at now: MonotonicInstant) -> Bool {
    let held = state.withLock { $0.held[live.handle.key] }
    return held?.contains { $0.until > now && !$0.isReleased } ?? false
  }

  private func isHeld(_ handle: SessionHandle, _ slot: TokenSlot) -> Bool {
    state.withLock { state in
      state.held[handle.key]?.contains { $0.authorization.slot == slot && $0.isReleased } ?? false
    }
  }

  /// Changes what `advices` hold up, or removes it; its slot.
  private func changeHeld(
    by advices: [PolicyAdvice], of handle: SessionHandle, _ change: ((inout HeldRenewal) -> Void)?
  ) -> TokenSlot? {
    let now = clock.monotonicNow
    return state.withLock { state in
      state.held.change(handle.key) { held in
        guard let index = held.firstIndex(where: { $0.until > now && $0.authorization.isHeld(by: advices) }) else {
          return nil
        }
        let slot = held[index].authorization.slot
        if let change { change(&held[index]) } else { held.remove(at: index) }
        return slot
      } ?? nil
    }
  }
}

extension UserSessions.State {
  fileprivate mutating func hold(_ renewals: [HeldRenewal], of live: LiveSession) {
    if renewals.isEmpty {
      held.remove(live.handle.key)
    } else {
      held.set(renewals, for: live.handle.key, of: live.owner)
    }
  }
}

extension HeldAuthorization {
  /// Whether one of `advices` is what it waits for.
  fileprivate func isHeld(by advices: [PolicyAdvice]) -> Bool {
    self.advices.contains { own in
      advices.contains { $0.type.hasSameBytes(as: own.type) && $0.value.hasSameBytes(as: own.value) }
    }
  }
}
