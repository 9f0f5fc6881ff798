import PosternSupport
import Testing

@testable import LocalServer

@Suite("Stall and write clocks")
struct ClockworkTests {
  private func at(_ seconds: Double) -> MonotonicInstant { MonotonicInstant(nanoseconds: Int64(seconds * 1e9)) }

  @Test("silence for the limit is a stall, every byte starts it again")
  func silence() {
    var watch = StallWatch(limit: .seconds(30))
    watch.progressed(ordinal: 1, length: 1, now: at(100))
    #expect(watch.verdict(now: at(100)) == .checkAgain(after: .seconds(30)))
    #expect(watch.verdict(now: at(129)) == .checkAgain(after: .seconds(1)))
    watch.progressed(ordinal: 1, length: 2, now: at(129.5))
    #expect(watch.verdict(now: at(130)) == .checkAgain(after: .milliseconds(29_500)))
    #expect(watch.verdict(now: at(159.5)) == .stalled)
  }

  @Test("a drip of single bytes is a stall after ten limits, however steady")
  func drip() {
    var watch = StallWatch(limit: .seconds(30))
    var (now, length) = (0.0, 0)
    var stalledAt: Double?
    while now < 1000, stalledAt == nil {
      length += 1
      watch.progressed(ordinal: 1, length: length, now: at(now))
      now += 20
      if watch.verdict(now: at(now)) == .stalled { stalledAt = now }
    }
    #expect(stalledAt == 300)
  }

  @Test("a large message that keeps growing never stalls")
  func growing() {
    var watch = StallWatch(limit: .seconds(30))
    for step in 0..<1000 {
      watch.progressed(ordinal: 1, length: (step + 1) * 7000, now: at(Double(step) * 25))
      #expect(watch.verdict(now: at(Double(step) * 25 + 24)) != .stalled)
    }
  }

  @Test("a new message has the whole time again")
  func newMessage() {
    var watch = StallWatch(limit: .seconds(30))
    watch.progressed(ordinal: 1, length: 1, now: at(0))
    watch.progressed(ordinal: 2, length: 1, now: at(290))
    watch.progressed(ordinal: 2, length: 2, now: at(310))
    #expect(watch.verdict(now: at(320)) == .checkAgain(after: .seconds(20)))
  }

  @Test("while reading is suspended the peer's silence does not count")
  func suspended() {
    var watch = StallWatch(limit: .seconds(30))
    watch.progressed(ordinal: 1, length: 1, now: at(0))
    watch.suspended(now: at(400))
    #expect(watch.verdict(now: at(400)) == .checkAgain(after: .seconds(30)))
  }

  @Test("no byte taken for the limit is stuck; a byte starts it again; nothing waiting is idle")
  func writes() {
    var watch = WriteWatch(limit: .seconds(45))
    #expect(watch.interval == .milliseconds(5625))
    #expect(watch.sample(written: 10, buffered: 5, now: at(0)) == .checkAgain(after: .milliseconds(5625)))
    #expect(watch.sample(written: 10, buffered: 5, now: at(44)) == .checkAgain(after: .seconds(1)))
    #expect(watch.sample(written: 11, buffered: 4, now: at(44.5)) == .checkAgain(after: .milliseconds(5625)))
    #expect(watch.sample(written: 11, buffered: 900, now: at(80)) == .checkAgain(after: .milliseconds(5625)))
    #expect(watch.sample(written: 11, buffered: 900, now: at(89.5)) == .stuck)
    #expect(watch.sample(written: 911, buffered: 0, now: at(90)) == .idle)
    // After idle the same count is progress again: it is another message's.
    #expect(watch.sample(written: 911, buffered: 1, now: at(500)) == .checkAgain(after: .milliseconds(5625)))
  }

  @Test(
    "limits of any size are brought into a range the clocks can count in",
    arguments: [
      Duration.zero, .seconds(-5), .nanoseconds(1), .seconds(Int64.max / 4), .seconds(30),
    ])
  func extremes(limit: Duration) {
    let timeouts = SocketServer.Timeouts(stall: limit, write: limit, linger: limit).clamped
    #expect(timeouts.stall >= .milliseconds(1) && timeouts.write >= .milliseconds(1) && timeouts.linger >= .zero)
    var watch = StallWatch(limit: timeouts.stall)
    watch.progressed(ordinal: 1, length: 1, now: at(1))
    #expect(watch.verdict(now: at(1)) == .checkAgain(after: timeouts.stall))
  }
}
