import PosternJSON
import PosternProtocol
import PosternSupport

/// Publishes reloads to subscribers. Any caller whose rule allows `reloadConfig` can reload without end: reloads that
/// come more often than `AnnouncementLimit` allows are published as one, with all keys that changed.
final class ReloadAnnouncements: Sendable {
  private struct State {
    /// The keys that changed, in the order in which they did; nil: nothing is to be published.
    var changed: [String]?
    var limit: AnnouncementLimit
  }

  private let hub: EventHub
  private let clock: any EngineClock
  private let state: Locked<State>

  init(hub: EventHub, clock: any EngineClock) {
    self.hub = hub
    self.clock = clock
    state = Locked(State(limit: AnnouncementLimit(at: clock.monotonicNow)))
  }

  /// Publishes a reload that changed these keys, now or with others a little later.
  func publish(_ changed: [String]) {
    state.withLock { state in
      let known = state.changed ?? []
      state.changed = known + changed.filter { !known.contains($0) }
    }
    publishPending()
  }

  private func publishPending() {
    // Behind the lock: an older event must not follow a newer one.
    let wait: Duration? = state.withLock { state in
      guard !state.limit.isDelayed, let changed = state.changed else { return nil }
      if let wait = state.limit.take(at: clock.monotonicNow) { return wait }
      hub.publish(.configReloaded, ["changed": .array(changed.map(JSONValue.string))])
      state.changed = nil
      return nil
    }
    guard let wait else { return }
    Task { [weak self, clock] in
      try? await clock.sleep(for: wait)
      self?.state.withLock { $0.limit.resume() }
      self?.publishPending()
    }
  }
}
