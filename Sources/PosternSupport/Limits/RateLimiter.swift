/// How often something may happen: so many at once after a pause, so many a second in the long run.
public struct RateLimit: Sendable, Hashable {
  /// How many a second in the long run.
  public let perSecond: Double
  /// How many at once after a pause.
  public let burst: Int

  /// A limit of the given parts.
  public init(perSecond: Double, burst: Int) {
    self.perSecond = perSecond
    self.burst = burst
  }
}

/// A token bucket (RFC 2697 section 3). Time comes from outside.
public struct TokenBucket: Sendable {
  private var level: Double
  private var at: MonotonicInstant
  private var limit: RateLimit

  /// A full bucket.
  public init(_ limit: RateLimit, at now: MonotonicInstant) {
    self.limit = limit
    level = Double(limit.burst)
    at = now
  }

  /// Takes a token; without one, returns how long until there is one. Another limit than before, after a reload, is
  /// applied from now on; what was used stays used.
  public mutating func take(_ limit: RateLimit, at now: MonotonicInstant) -> Duration? {
    let missing = Double(self.limit.burst) - level(at: now)
    if limit != self.limit {
      self.limit = limit
      level = max(0, Double(limit.burst) - missing)
    } else {
      level = Double(limit.burst) - missing
    }
    at = max(at, now)
    guard level >= 1 else { return .nanoseconds(Int64(min((1 - level) / limit.perSecond, 3600) * 1_000_000_000) + 1) }
    level -= 1
    return nil
  }

  /// Whether no token is missing.
  func isFull(at now: MonotonicInstant) -> Bool { level(at: now) >= Double(limit.burst) }

  /// How many tokens are missing.
  func missing(at now: MonotonicInstant) -> Double { Double(limit.burst) - level(at: now) }

  private func level(at now: MonotonicInstant) -> Double {
    min(Double(limit.burst), level + max(0, (now - at).inSeconds) * limit.perSecond)
  }
}

/// Token buckets by key, in a bounded number. A key without a bucket has a full one, so that full ones are dropped when
/// there are too many.
public struct RateLimiter<Key: Hashable & Sendable>: Sendable {
  private let capacity: Int
  private var buckets: [Key: TokenBucket] = [:]

  /// A limiter of at most `capacity` buckets.
  public init(capacity: Int) { self.capacity = capacity }

  /// How many keys have a bucket.
  public var count: Int { buckets.count }

  /// Takes a token of `key`; without one, returns how long until there is one. When there are too many buckets, the one
  /// from which the fewest tokens are missing is dropped.
  public mutating func take(_ key: Key, _ limit: RateLimit, at now: MonotonicInstant) -> Duration? {
    if !makeCapacity(for: key, at: now),
      let fullest = buckets.min(by: { $0.value.missing(at: now) < $1.value.missing(at: now) })
    {
      buckets[fullest.key] = nil
    }
    return buckets[key, default: TokenBucket(limit, at: now)].take(limit, at: now)
  }

  /// Returns what `take` would, without taking.
  public func wait(_ key: Key, _ limit: RateLimit, at now: MonotonicInstant) -> Duration? {
    guard var bucket = buckets[key] else { return nil }
    return bucket.take(limit, at: now)
  }

  /// Whether `key` has a bucket.
  public func contains(_ key: Key) -> Bool { buckets[key] != nil }

  /// Drops full buckets if there are too many for one more; false when there still are.
  public mutating func makeCapacity(for key: Key, at now: MonotonicInstant) -> Bool {
    guard buckets[key] == nil, buckets.count >= capacity else { return true }
    buckets = buckets.filter { !$0.value.isFull(at: now) }
    return buckets.count < capacity
  }
}

/// At most so many requests in any window of the given length, and more for uids that have made none in it. Not
/// synchronized.
///
/// Not a `TokenBucket`: with the same burst that would accept twice as many in a window, and it does not know uids.
package struct RequestBudget: Sendable {
  /// The limit for uids without a request, as a multiple of the limit.
  private static let reserve = 3

  private let limit: Int
  private let window: Duration
  private var spent: [(at: MonotonicInstant, uid: UInt32)] = []

  package init(limit: Int = 10, window: Duration = .seconds(60)) {
    self.limit = limit
    self.window = window
  }

  /// Counts a request of `uid`; false when it is over the limit.
  package mutating func take(at now: MonotonicInstant, for uid: UInt32 = PeerID.process.uid) -> Bool {
    spent.removeAll { $0.at + window <= now }
    let isFirst = !spent.contains { $0.uid == uid }
    guard spent.count < (isFirst ? limit * Self.reserve : limit) else { return false }
    spent.append((now, uid))
    return true
  }

  /// How long until the next request is within the limit; nil when it is.
  package func wait(at now: MonotonicInstant) -> Duration? {
    let left = spent.map { $0.at + window - now }.filter { $0 > .zero }
    return left.count < limit ? nil : left.min()
  }
}

extension RateLimit: ConciseStringConvertible {
  /// Rate and burst.
  public var description: String { "\(perSecond) per second, bursts of \(burst)" }
}

extension TokenBucket: ConciseStringConvertible {
  /// The limit.
  public var description: String { "bucket of \(limit)" }
}

extension RateLimiter: ConciseStringConvertible {
  /// The number of keys.
  public var description: String { Concise.count(count, "bucket") }
}
