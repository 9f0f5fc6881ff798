import PosternProtocol
import PosternSupport
import SidecarAccess
import SidecarObservability

/// The status that was published last, for each scope, and the limit of publications (`AnnouncementLimit`).
final class HealthAnnouncements: Sendable {
  private struct State {
    /// The status by scope; without an entry `ok`.
    var published: [PeerScope: Health.Status] = [:]
    var limit: AnnouncementLimit
  }

  private let clock: any EngineClock
  private let state: Locked<State>

  init(clock: any EngineClock) {
    self.clock = clock
    state = Locked(State(limit: AnnouncementLimit(at: clock.monotonicNow)))
  }

  /// Publishes statuses that differ from the published ones with `tell`. `look` returns the current statuses, and none
  /// while they are about to be known. Returns how long to wait before `resume` when it is too early; later changes are
  /// published then. Updates are serial: an older status must not follow a newer one.
  func update(
    _ look: () -> [PeerScope: Health.Status]?, tell: (PeerScope, Health.Status) -> Void
  ) -> Duration? {
    state.withLock { state in
      guard !state.limit.isDelayed, let statuses = look() else { return nil }
      let changes = statuses.filter { $0.value != state.published[$0.key] ?? .ok }
      if !changes.isEmpty, let wait = state.limit.take(at: clock.monotonicNow) { return wait }
      for (scope, status) in changes { tell(scope, status) }
      state.published = statuses
      return nil
    }
  }

  /// Ends the delay.
  func resume() { state.withLock { $0.limit.resume() } }
}
