package import PosternSupport

/// The `rate` and `concurrency` of rules in `peers`, for each uid that such a rule matches.
///
/// Outlives a reload: a bucket that was emptied stays empty. Concurrent calls beyond the limit are rejected and do not
/// wait: those that may wait do so in front of `SidecarService.callLimiter`, which all uids share.
package final class PeerRateLimiter: Sendable {
  /// Why a call is rejected; the raw value is a label in the metrics.
  package enum Rejection: String, Sendable {
    /// Too many calls in a short time.
    case rate
    /// Too many calls in flight.
    case concurrency
  }

  fileprivate struct Key: Hashable {
    let uid: UInt32
    /// The identity of the rule: calls under another one, after a reload too, are counted from zero.
    let ruleUid: UInt32?
    let ruleGid: UInt32?

    init(_ rule: AccessRules.Rule, _ uid: UInt32) { (self.uid, ruleUid, ruleGid) = (uid, rule.uid, rule.gid) }
  }

  private struct State {
    var calls = RateLimiter<Key>(capacity: PeerRateLimiter.capacity)
    /// Probes have buckets of their own: a busy caller can still be probed, and cannot use that to make more calls.
    var probes = RateLimiter<Key>(capacity: PeerRateLimiter.capacity)
    var inFlight: [Key: Int] = [:]
    /// Calls that answer a question, by uid.
    var answering: [UInt32: Int] = [:]
    /// Calls that wait for their user, by uid.
    var waiting = SharedBudget(capacity: 4 * PeerRateLimiter.maxWaiting, capacityPerUID: PeerRateLimiter.maxWaiting)
  }

  /// A slot for a call in flight, to be given back.
  package struct Slot: Sendable {
    fileprivate let key: Key
  }

  /// The concurrency limit has been reached.
  package struct LimitReached: Error, Sendable {
    package let limit: Int
  }

  /// How many uids have a bucket.
  package static let capacity = 4096
  /// How many calls of one uid wait for their users at one time.
  package static let maxWaiting = 4096
  package static let probeRate = RateLimit(perSecond: 10, burst: 20)

  private let state = Locked(State())
  private let clock: any EngineClock

  package init(clock: any EngineClock) { self.clock = clock }

  /// How many buckets and counts are kept.
  package var count: Int { state.withLock { $0.calls.count + $0.probes.count + $0.inFlight.count } }

  /// Counts a call; returns how long until the next one is accepted, nil when this one is.
  package func admit(_ rule: AccessRules.Rule, uid: UInt32, isProbe: Bool) -> Duration? {
    guard let rate = rule.rate else { return nil }
    let (key, now) = (Key(rule, uid), clock.monotonicNow)
    return state.withLock { state in
      isProbe ? state.probes.take(key, Self.probeRate, at: now) : state.calls.take(key, rate, at: now)
    }
  }

  /// Returns what `admit` would, without counting a call.
  package func wait(_ rule: AccessRules.Rule, uid: UInt32, isProbe: Bool) -> Duration? {
    guard let rate = rule.rate else { return nil }
    let (key, now) = (Key(rule, uid), clock.monotonicNow)
    return state.withLock { state in
      isProbe ? state.probes.wait(key, Self.probeRate, at: now) : state.calls.wait(key, rate, at: now)
    }
  }

  /// How many calls have a slot.
  package func inFlight(_ rule: AccessRules.Rule, uid: UInt32) -> Int {
    state.withLock { $0.inFlight[Key(rule, uid)] ?? 0 }
  }

  /// Takes a slot for a call; nil where the rule has no limit.
  package func begin(_ rule: AccessRules.Rule, uid: UInt32) -> Result<Slot?, LimitReached> {
    guard let limit = rule.concurrency else { return .success(nil) }
    let key = Key(rule, uid)
    return state.withLock { state in
      state.inFlight.countUp(key, below: limit) ? .success(Slot(key: key)) : .failure(LimitReached(limit: limit))
    }
  }

  /// Gives a slot back.
  package func end(_ slot: Slot?) {
    guard let slot else { return }
    state.withLock { $0.inFlight.countDown(slot.key) }
  }

  /// Counts a call that answers one of `questions`; false when as many do already.
  package func beginAnswering(uid: UInt32, among questions: Int) -> Bool {
    state.withLock { $0.answering.countUp(uid, below: questions) }
  }

  /// Counts the end of such a call.
  package func endAnswering(uid: UInt32) { state.withLock { $0.answering.countDown(uid) } }

  /// Counts a call that waits for its user; false when too many do.
  package func beginWaiting(uid: UInt32) -> Bool { state.withLock { $0.waiting.take(1, for: uid) } }

  /// Counts the end of such a call.
  package func endWaiting(uid: UInt32) { state.withLock { $0.waiting.giveBack(1, for: uid) } }
}
