import AuthEngine
import PosternSupport
import Testing

@testable import Entitlements

@Suite("The rate limit of decision points")
struct DecisionRateLimiterTests {
  private let start = MonotonicInstant(nanoseconds: 1_000_000_000)

  /// Returns how long a new request has to wait; it remains in the queue.
  private func wait(
    _ limiter: DecisionRateLimiter, _ uid: UInt32 = 1, after time: Duration = .zero, for device: String = ""
  ) -> Duration {
    limiter.wait(limiter.enqueue(for: uid, device: device), at: start + time)
  }

  @Test("each device has a bound of its own")
  func devices() {
    let limiter = DecisionRateLimiter(perSecond: 1, burst: 2)
    for _ in 0..<2 { #expect(wait(limiter) == .zero) }
    let waiter = limiter.enqueue(for: 1)
    #expect(limiter.wait(waiter, at: start) == .seconds(1))
    #expect(wait(limiter, for: "192.0.2.7") == .zero)
    #expect(limiter.wait(waiter, at: start + .milliseconds(500)) == .milliseconds(500))
    #expect(wait(limiter, after: .milliseconds(500)) == .milliseconds(1500))
  }

  @Test("after a pause a burst goes at once, and not more")
  func burst() {
    let limiter = DecisionRateLimiter(perSecond: 2, burst: 3)
    for _ in 0..<2 {
      #expect(wait(limiter) == .zero)
    }
    #expect((0..<3).allSatisfy { _ in wait(limiter, after: .seconds(60)) == .zero })
    #expect(wait(limiter, after: .seconds(60)) == .milliseconds(500))
  }

  @Test("after a 429 nothing is sent for a while, then one request after the other, whatever waits already")
  func hold() {
    for taken in [0, 2, 3] {
      let limiter = DecisionRateLimiter(perSecond: 1, burst: 2)
      let waiters = (0..<max(taken, 2)).map { _ in limiter.enqueue(for: 1) }
      for waiter in waiters.prefix(taken) { _ = limiter.wait(waiter, at: start) }
      limiter.pause(1, for: .seconds(5), at: start)
      // A shorter pause that comes later does not shorten the first one.
      limiter.pause(1, for: .seconds(1), at: start + .seconds(1))
      for waiter in waiters.prefix(2) { limiter.leave(waiter) }
      let waits = [
        waiters.count > 2 ? limiter.wait(waiters[2], at: start + .seconds(2)) : wait(limiter, after: .seconds(2))
      ]
      #expect(waits == [.seconds(3)], "\(taken)")
      #expect(wait(limiter, after: .seconds(2)) == .seconds(4), "\(taken)")
    }
  }

  /// Would catch: one uid's requests, as many as their timeout allows, before all of another's, which time out then.
  @Test("a uid's first request waits for one of each other uid, however many these have waiting, then the uids rotate")
  func owners() {
    let limiter = DecisionRateLimiter(perSecond: 1, burst: 1)
    #expect(wait(limiter) == .zero)
    let busy = (0..<100).map { _ in limiter.enqueue(for: 1) }
    let other = (0..<3).map { _ in limiter.enqueue(for: 2) }
    let late = limiter.enqueue(for: 3)
    #expect(limiter.wait(busy[99], at: start) == .seconds(104))
    #expect(other.map { limiter.wait($0, at: start) } == [.seconds(2), .seconds(5), .seconds(7)])
    #expect(limiter.wait(late, at: start) == .seconds(3))
    for (second, waiter) in [busy[0], other[0], late, busy[1], other[1], busy[2], other[2], busy[3]].enumerated() {
      #expect(limiter.wait(waiter, at: start + .seconds(second + 1)) == .zero, "\(second)")
      #expect(limiter.wait(busy[99], at: start + .seconds(second + 1)) > .zero)
    }
  }

  /// Would catch: a uid that sends one request after the other and is first each time, since it is new to the queue
  /// each time.
  @Test("a uid that comes again and again with one request rotates with those that wait")
  func noOvertaking() {
    let limiter = DecisionRateLimiter(perSecond: 1, burst: 1)
    #expect(wait(limiter) == .zero)
    let patient = (0..<5).map { _ in limiter.enqueue(for: 1) }
    for second in 1...3 {
      let quick = limiter.enqueue(for: 2)
      let now = start + .seconds(2 * second - 1)
      #expect(limiter.wait(quick, at: now) == .seconds(1))
      #expect(limiter.wait(patient[second - 1], at: now) == .zero)
      #expect(limiter.wait(quick, at: now + .seconds(1)) == .zero)
    }
  }

  /// Would catch: a 429 for one user's requests, with a delay of an hour, after which no user's requests are sent for
  /// that hour.
  @Test("a 429 pauses the uid that got it, and no other waits for its requests")
  func holdOfOne() {
    let limiter = DecisionRateLimiter(perSecond: 1, burst: 2)
    let waiting = (0..<3).map { _ in limiter.enqueue(for: 1) }
    limiter.pause(1, for: .seconds(3600), at: start)
    #expect(
      limiter.wait(waiting[0], at: start) == .seconds(3600) && limiter.wait(waiting[2], at: start) == .seconds(3602))
    for _ in 0..<2 { #expect(wait(limiter, 2) == .zero) }
    let other = limiter.enqueue(for: 2)
    #expect(limiter.wait(other, at: start) == .seconds(1))
    #expect(limiter.wait(other, at: start + .seconds(1)) == .zero)
    // Several times: it is still one uid.
    for second in 1..<60 { limiter.pause(1, for: .seconds(3600), at: start + .seconds(second)) }
    #expect(wait(limiter, 3, after: .seconds(60)) == .zero)
    // Another device is another account at the server.
    #expect(wait(limiter, 1, after: .seconds(60), for: "192.0.2.7") == .zero)
    // Its own are sent after the delay, one after the other.
    let end = start + .seconds(59 + 3600)
    #expect(limiter.wait(waiting[0], at: end) == .zero)
    #expect(limiter.wait(waiting[1], at: end) == .seconds(1))
  }

  @Test("a 429 for two uids shortly after each other, or for a shared request, pauses all uids, for 30 s at most")
  func holdOfAll() {
    for second in [2, UInt32.max] {
      let limiter = DecisionRateLimiter(perSecond: 1, burst: 1)
      limiter.pause(1, for: .seconds(3600), at: start)
      #expect(wait(limiter, 3) == .zero)
      limiter.pause(second, for: .seconds(3600), at: start + .seconds(10))
      #expect(wait(limiter, 4, after: .seconds(10)) == .seconds(30))
    }
    let limiter = DecisionRateLimiter(perSecond: 1, burst: 1)
    limiter.pause(1, for: .seconds(1), at: start)
    limiter.pause(2, for: .seconds(1), at: start + .seconds(31))
    #expect(wait(limiter, 3, after: .seconds(31)) == .zero, "too far apart")
    limiter.pause(1, for: .seconds(5), at: start + .seconds(40))
    let waiter = limiter.enqueue(for: 3)
    #expect(limiter.wait(waiter, at: start + .seconds(40)) == .seconds(5))
    limiter.leave(waiter)
    // The second uid's answer is used up: one of them alone cannot repeat that.
    limiter.pause(1, for: .seconds(5), at: start + .seconds(45))
    #expect(wait(limiter, 4, after: .seconds(47)) == .zero)
  }

  /// Would catch: a user who names thousands of addresses, by which another's address loses its state.
  @Test("devices that one uid names make no other uid's lose their state")
  func manyDevices() {
    let limiter = DecisionRateLimiter(perSecond: 1, burst: 1)
    #expect(wait(limiter, 2, for: "192.0.2.7") == .zero && wait(limiter, 2) == .zero)
    for number in 0..<10_000 { #expect(wait(limiter, 1, for: "device \(number)") == .zero) }
    #expect(wait(limiter, 2, for: "192.0.2.7") == .seconds(1) && wait(limiter, 2) == .seconds(1))
  }

  @Test("a request that leaves delays no other, and none is sent too early")
  func leaving() {
    let limiter = DecisionRateLimiter(perSecond: 1, burst: 1)
    #expect(wait(limiter) == .zero)
    let leaving = (0..<50).map { limiter.enqueue(for: $0) }
    let staying = limiter.enqueue(for: 99)
    #expect(limiter.wait(staying, at: start) == .seconds(51))
    for waiter in leaving { limiter.leave(waiter) }
    #expect(limiter.wait(staying, at: start) == .seconds(1))
    #expect(limiter.wait(staying, at: start + .seconds(1)) == .zero)
  }
}
