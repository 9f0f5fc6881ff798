import PosternSupport

/// What has changed in the configuration since subscribers were last told of a reload. Whoever may reload can do so
/// without end: reloads that come more often than `AnnouncementPace` allows are told as one, with all that they
/// changed.
final class ReloadAnnouncements: Sendable {
  private struct State {
    /// The keys that changed, in the order in which they did; nil: nothing is to be told.
    var changed: [String]?
    var pace: AnnouncementPace
  }

  private let clock: any EngineClock
  private let state: Locked<State>

  init(clock: any EngineClock) {
    self.clock = clock
    state = Locked(State(pace: AnnouncementPace(at: clock.monotonicNow)))
  }

  /// There was a reload, which changed these keys.
  func add(_ changed: [String]) {
    state.withLock { state in
      let known = state.changed ?? []
      state.changed = known + changed.filter { !known.contains($0) }
    }
  }

  /// Has `tell` told of the reloads that were not told yet. Returns how long to wait before `goOn` when it is too
  /// early; what comes meanwhile is told then. One after another: an older word must not come after a newer one.
  func update(tell: ([String]) -> Void) -> Duration? {
    state.withLock { state in
      guard !state.pace.isPutOff, let changed = state.changed else { return nil }
      if let wait = state.pace.take(at: clock.monotonicNow) { return wait }
      tell(changed)
      state.changed = nil
      return nil
    }
  }

  /// The wait is over.
  func goOn() { state.withLock { $0.pace.goOn() } }
}
