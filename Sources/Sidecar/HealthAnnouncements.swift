import PosternProtocol
import PosternSupport

/// What subscribers were told of health last, and whether they can be told again (`AnnouncementPace`).
final class HealthAnnouncements: Sendable {
  private struct State {
    /// By what subscribers' rules show; nothing yet: that all is well.
    var told: [PeerScope: Health.Status] = [:]
    var pace: AnnouncementPace
  }

  private let clock: any EngineClock
  private let state: Locked<State>

  init(clock: any EngineClock) {
    self.clock = clock
    state = Locked(State(pace: AnnouncementPace(at: clock.monotonicNow)))
  }

  /// Has `tell` told of what is not as it was told last. `look` finds how things are, and nothing while that is about
  /// to be known. Returns how long to wait before `goOn` when it is too early; what comes meanwhile is told then. One
  /// after another: an older word must not come after a newer one.
  func update(
    _ look: () -> [PeerScope: Health.Status]?, tell: (PeerScope, Health.Status) -> Void
  ) -> Duration? {
    state.withLock { state in
      guard !state.pace.isPutOff, let statuses = look() else { return nil }
      let news = statuses.filter { $0.value != state.told[$0.key] ?? .ok }
      if !news.isEmpty, let wait = state.pace.take(at: clock.monotonicNow) { return wait }
      for (scope, status) in news { tell(scope, status) }
      state.told = statuses
      return nil
    }
  }

  /// The wait is over.
  func goOn() { state.withLock { $0.pace.goOn() } }
}
