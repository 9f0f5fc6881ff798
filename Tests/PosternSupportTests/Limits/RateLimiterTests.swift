import PosternSupport
import Testing

@Suite("Rate limiter and backoff")
struct RateLimiterTests {
  private static func at(_ seconds: Double) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: Int64(seconds * 1_000_000_000))
  }

  /// Would catch: more than the burst and the rate allow in any stretch of time, or less.
  @Test(
    "more is accepted than the limit allows, or a wait that is returned is not long enough", arguments: [0.1, 1, 7])
  func bounds(perSecond: Double) {
    let limit = RateLimit(perSecond: perSecond, burst: 5)
    var bucket = TokenBucket(limit, at: Self.at(0))
    var accepted: [Double] = []
    let start = Self.at(0)
    // An instant, not a number of seconds: a rounded one could be earlier than the wait that was returned.
    var now = start
    for _ in 0..<200 {
      if let wait = bucket.take(limit, at: now) {
        now = now + wait
        let rejected = bucket.take(limit, at: now)
        #expect(rejected == nil)
      }
      accepted.append((now - start).inSeconds)
    }
    for first in accepted.indices {
      let last = min(first + 50, accepted.count - 1)
      let count = Double(last - first + 1)
      #expect(count <= 5 + (accepted[last] - accepted[first]) * perSecond + 1.001)
    }
    #expect((now - start).inSeconds <= (200 - 5) / perSecond + 0.001)
  }

  @Test("a reload refills a bucket, or a limit that was raised does not apply")
  func reload() {
    let (small, large) = (RateLimit(perSecond: 1, burst: 2), RateLimit(perSecond: 1, burst: 4))
    var bucket = TokenBucket(small, at: Self.at(0))
    for _ in 0..<2 { _ = bucket.take(small, at: Self.at(0)) }
    let taken = (0..<4).prefix { _ in bucket.take(large, at: Self.at(0)) == nil }.count
    #expect(taken == 2)
  }

  @Test("buckets without end are kept, or one that is empty is dropped for a new key while others are fuller")
  func capacity() {
    let limit = RateLimit(perSecond: 1, burst: 10)
    var limiter = RateLimiter<Int>(capacity: 4)
    for _ in 0..<10 { _ = limiter.take(0, limit, at: Self.at(0)) }
    for key in 1..<100 { _ = limiter.take(key, limit, at: Self.at(0)) }
    #expect(limiter.count == 4)
    #expect(limiter.wait(0, limit, at: Self.at(0)) != nil && limiter.wait(1000, limit, at: Self.at(0)) == nil)
    let hasCapacity = limiter.makeCapacity(for: 1000, at: Self.at(10))
    #expect(hasCapacity && limiter.count == 0)
  }

  @Test("delays do not double up to the longest, or a server's wish or a success is ignored")
  func backoff() {
    var backoff = Backoff(first: .seconds(1), longest: .seconds(30))
    let delays = (0..<70).map { _ in backoff.fail(at: Self.at(0)) }
    #expect(delays.prefix(6) == [.seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(16), .seconds(30)])
    #expect(delays.dropFirst(6).allSatisfy { $0 == .seconds(30) })
    #expect(!backoff.isOver(at: Self.at(29)) && backoff.isOver(at: Self.at(30)))
    let requested = backoff.fail(at: Self.at(0), retryAfter: .seconds(90))
    #expect(requested == .seconds(90))
    backoff.succeed()
    #expect(backoff.isOver(at: Self.at(0)) && backoff.delay == .zero)
    var tolerant = Backoff(first: .seconds(1), longest: .seconds(30), tolerance: 1)
    let tolerated = (0..<3).map { _ in tolerant.fail(at: Self.at(0)) }
    #expect(tolerated == [.zero, .seconds(1), .seconds(2)])
  }
}
