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

/// Limits how often one event is published: five times at once and once a second in the long run. Later changes are
/// published together, after a delay. Belongs behind the lock of the publisher.
struct AnnouncementLimit: Sendable {
  private static let rate = RateLimit(perSecond: 1, burst: 5)

  private var bucket: TokenBucket
  /// Whether a publication is delayed.
  private(set) var isDelayed = false

  init(at now: MonotonicInstant) { bucket = TokenBucket(Self.rate, at: now) }

  /// Counts a publication. When there are too many it is delayed: returns how long to wait before `resume`.
  mutating func take(at now: MonotonicInstant) -> Duration? {
    let wait = bucket.take(Self.rate, at: now)
    isDelayed = wait != nil
    return wait
  }

  /// Ends the delay.
  mutating func resume() { isDelayed = false }
}
