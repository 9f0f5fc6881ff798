package import PosternSupport

/// Selects the rejections of uids that no rule matches which are recorded one by one, and the ends of connections that
/// are logged: connecting is free, and must not fill the disk.
package final class RejectionSampler: Sendable {
  private struct State {
    var limiter = RateLimiter<UInt32>(capacity: RejectionSampler.capacity)
    /// For uids beyond the capacity.
    var shared: TokenBucket
    /// How many were not recorded, by uid; nil: of uids that share a bucket, or had none for a while.
    var unreported: [UInt32?: Int64] = [:]

    /// Moves the counts of uids without a bucket to the shared one.
    mutating func collectIdle() {
      let idle = unreported.filter { uid, _ in uid.map { !limiter.contains($0) } ?? false }
      guard !idle.isEmpty else { return }
      for uid in idle.keys { unreported[uid] = nil }
      unreported[nil, default: 0] += idle.values.reduce(0, +)
    }
  }

  /// How many uids have a bucket of their own.
  private static let capacity = 1024

  private let state: Locked<State>
  private let clock: any EngineClock
  private let rate: RateLimit

  /// By default ten at once and one each ten seconds.
  package init(clock: any EngineClock, rate: RateLimit = RateLimit(perSecond: 0.1, burst: 10)) {
    self.clock = clock
    self.rate = rate
    state = Locked(State(shared: TokenBucket(rate, at: clock.monotonicNow)))
  }

  /// How many rejections of `uid` before this one were not recorded; nil when this one is not to be recorded either.
  package func admit(_ uid: UInt32) -> Int64? {
    let now = clock.monotonicNow
    return state.withLock { state in
      let count = state.limiter.count
      let hasBucket = state.limiter.makeCapacity(for: uid, at: now)
      if state.limiter.count < count { state.collectIdle() }
      let wait = hasBucket ? state.limiter.take(uid, rate, at: now) : state.shared.take(rate, at: now)
      let key: UInt32? = hasBucket ? uid : nil
      guard wait == nil else {
        state.unreported[key, default: 0] += 1
        return nil
      }
      return state.unreported.removeValue(forKey: key) ?? 0
    }
  }

  /// How many rejections were not recorded, by uid in ascending order; they count as recorded from here on. A nil uid
  /// is for those that share a bucket.
  package func takeRest() -> [(uid: UInt32?, more: Int64)] {
    let rest = state.withLock { state in
      defer { state.unreported = [:] }
      return state.unreported
    }
    return rest.map { ($0.key, $0.value) }.sorted { ($0.uid ?? .max) < ($1.uid ?? .max) }
  }
}
