import Support
import Testing

@testable import AuthEngine

@Suite("Pace")
struct DecisionPaceTests {
  private let start = MonotonicInstant(nanoseconds: 1_000_000_000)

  @Test("each device has a bucket of its own")
  func devices() {
    let pace = DecisionPace(perSecond: 1, burst: 2)
    for _ in 0..<2 { #expect(pace.take(at: start, patience: .zero) == .zero) }
    #expect(pace.take(at: start, patience: .zero) == nil)
    #expect(pace.take(at: start, patience: .zero, for: "192.0.2.7") == .zero)
    #expect(pace.take(at: start + .milliseconds(500), patience: nil) == .milliseconds(500))
  }

  @Test("after a 429 nothing goes out for a while, then one after the other, whatever the level was")
  func hold() {
    for taken in [0, 2, 3] {
      let pace = DecisionPace(perSecond: 1, burst: 2)
      for _ in 0..<taken { _ = pace.take(at: start, patience: nil) }
      pace.hold(for: .seconds(5), at: start)
      // A shorter pause that comes later takes nothing back.
      pace.hold(for: .seconds(1), at: start + .seconds(1))
      let waits = (0..<2).map { _ in pace.take(at: start + .seconds(2), patience: nil) ?? .seconds(-1) }
      #expect(waits[0] >= .seconds(3) && waits[1] == waits[0] + .seconds(1), "\(taken): \(waits)")
      #expect(pace.take(at: start + .seconds(2), patience: .seconds(2)) == nil)
    }
  }
}
