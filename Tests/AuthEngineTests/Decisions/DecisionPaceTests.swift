import AuthEngine
import PosternSupport
import Testing

@testable import Entitlements

@Suite("Pace")
struct DecisionPaceTests {
  private let start = MonotonicInstant(nanoseconds: 1_000_000_000)

  /// How long one that comes now has to wait; it stays in the line.
  private func wait(
    _ pace: DecisionPace, _ owner: UInt32 = 1, after time: Duration = .zero, for device: String = ""
  ) -> Duration {
    pace.wait(pace.come(for: owner, device: device), at: start + time)
  }

  @Test("each device has a bound of its own")
  func devices() {
    let pace = DecisionPace(perSecond: 1, burst: 2)
    for _ in 0..<2 { #expect(wait(pace) == .zero) }
    let turn = pace.come(for: 1)
    #expect(pace.wait(turn, at: start) == .seconds(1))
    #expect(wait(pace, for: "192.0.2.7") == .zero)
    #expect(pace.wait(turn, at: start + .milliseconds(500)) == .milliseconds(500))
    #expect(wait(pace, after: .milliseconds(500)) == .milliseconds(1500))
  }

  @Test("after a pause a burst goes at once, and not more")
  func burst() {
    let pace = DecisionPace(perSecond: 2, burst: 3)
    for _ in 0..<2 {
      #expect(wait(pace) == .zero)
    }
    #expect((0..<3).allSatisfy { _ in wait(pace, after: .seconds(60)) == .zero })
    #expect(wait(pace, after: .seconds(60)) == .milliseconds(500))
  }

  @Test("after a 429 nothing goes out for a while, then one after the other, whoever waits already")
  func hold() {
    for taken in [0, 2, 3] {
      let pace = DecisionPace(perSecond: 1, burst: 2)
      let turns = (0..<max(taken, 2)).map { _ in pace.come(for: 1) }
      for turn in turns.prefix(taken) { _ = pace.wait(turn, at: start) }
      pace.hold(1, for: .seconds(5), at: start)
      // A shorter pause that comes later takes nothing back.
      pace.hold(1, for: .seconds(1), at: start + .seconds(1))
      for turn in turns.prefix(2) { pace.leave(turn) }
      let waits = [turns.count > 2 ? pace.wait(turns[2], at: start + .seconds(2)) : wait(pace, after: .seconds(2))]
      #expect(waits == [.seconds(3)], "\(taken)")
      #expect(wait(pace, after: .seconds(2)) == .seconds(4), "\(taken)")
    }
  }

  /// Would catch: one uid's questions, as many as their time allows, before all of another's, which fail then.
  @Test("a uid's first waits for one of each other uid, whatever these have waiting, and then they go by turns")
  func owners() {
    let pace = DecisionPace(perSecond: 1, burst: 1)
    #expect(wait(pace) == .zero)
    let busy = (0..<100).map { _ in pace.come(for: 1) }
    let other = (0..<3).map { _ in pace.come(for: 2) }
    let late = pace.come(for: 3)
    #expect(pace.wait(busy[99], at: start) == .seconds(104))
    #expect(other.map { pace.wait($0, at: start) } == [.seconds(2), .seconds(5), .seconds(7)])
    #expect(pace.wait(late, at: start) == .seconds(3))
    for (second, turn) in [busy[0], other[0], late, busy[1], other[1], busy[2], other[2], busy[3]].enumerated() {
      #expect(pace.wait(turn, at: start + .seconds(second + 1)) == .zero, "\(second)")
      #expect(pace.wait(busy[99], at: start + .seconds(second + 1)) > .zero)
    }
  }

  /// Would catch: a uid that asks one question after the other and is first each time, since nothing is known of it
  /// when it comes.
  @Test("who comes again and again with one goes by turns with those who wait")
  func noOvertaking() {
    let pace = DecisionPace(perSecond: 1, burst: 1)
    #expect(wait(pace) == .zero)
    let patient = (0..<5).map { _ in pace.come(for: 1) }
    for second in 1...3 {
      let quick = pace.come(for: 2)
      let now = start + .seconds(2 * second - 1)
      #expect(pace.wait(quick, at: now) == .seconds(1))
      #expect(pace.wait(patient[second - 1], at: now) == .zero)
      #expect(pace.wait(quick, at: now + .seconds(1)) == .zero)
    }
  }

  /// Would catch: a 429 about what one user asks, with an hour to wait, and nobody's questions go out for that hour.
  @Test("a 429 holds back the uid that was told, and nobody else waits for its turns")
  func holdOfOne() {
    let pace = DecisionPace(perSecond: 1, burst: 2)
    let waiting = (0..<3).map { _ in pace.come(for: 1) }
    pace.hold(1, for: .seconds(3600), at: start)
    #expect(pace.wait(waiting[0], at: start) == .seconds(3600) && pace.wait(waiting[2], at: start) == .seconds(3602))
    for _ in 0..<2 { #expect(wait(pace, 2) == .zero) }
    let other = pace.come(for: 2)
    #expect(pace.wait(other, at: start) == .seconds(1))
    #expect(pace.wait(other, at: start + .seconds(1)) == .zero)
    // Again and again: it is still one uid.
    for second in 1..<60 { pace.hold(1, for: .seconds(3600), at: start + .seconds(second)) }
    #expect(wait(pace, 3, after: .seconds(60)) == .zero)
    // Another device is another account at the server.
    #expect(wait(pace, 1, after: .seconds(60), for: "192.0.2.7") == .zero)
    // Its own comes when its time has, one after the other.
    let end = start + .seconds(59 + 3600)
    #expect(pace.wait(waiting[0], at: end) == .zero)
    #expect(pace.wait(waiting[1], at: end) == .seconds(1))
  }

  @Test("what two uids are told shortly after each other, or what is nobody's, holds everybody back, for 30 s at most")
  func holdOfAll() {
    for second in [2, UInt32.max] {
      let pace = DecisionPace(perSecond: 1, burst: 1)
      pace.hold(1, for: .seconds(3600), at: start)
      #expect(wait(pace, 3) == .zero)
      pace.hold(second, for: .seconds(3600), at: start + .seconds(10))
      #expect(wait(pace, 4, after: .seconds(10)) == .seconds(30))
    }
    let pace = DecisionPace(perSecond: 1, burst: 1)
    pace.hold(1, for: .seconds(1), at: start)
    pace.hold(2, for: .seconds(1), at: start + .seconds(31))
    #expect(wait(pace, 3, after: .seconds(31)) == .zero, "too far apart")
    pace.hold(1, for: .seconds(5), at: start + .seconds(40))
    let turn = pace.come(for: 3)
    #expect(pace.wait(turn, at: start + .seconds(40)) == .seconds(5))
    pace.leave(turn)
    // The second one's word is used up: one of them alone cannot go on with that.
    pace.hold(1, for: .seconds(5), at: start + .seconds(45))
    #expect(wait(pace, 4, after: .seconds(47)) == .zero)
  }

  /// Would catch: a user who names thousands of addresses, and another's address begins anew.
  @Test("devices that one uid names make nobody else's begin anew")
  func manyDevices() {
    let pace = DecisionPace(perSecond: 1, burst: 1)
    #expect(wait(pace, 2, for: "192.0.2.7") == .zero && wait(pace, 2) == .zero)
    for number in 0..<10_000 { #expect(wait(pace, 1, for: "device \(number)") == .zero) }
    #expect(wait(pace, 2, for: "192.0.2.7") == .seconds(1) && wait(pace, 2) == .seconds(1))
  }

  @Test("whoever leaves makes nobody else wait, and nobody goes before its time")
  func leaving() {
    let pace = DecisionPace(perSecond: 1, burst: 1)
    #expect(wait(pace) == .zero)
    let leaving = (0..<50).map { pace.come(for: $0) }
    let staying = pace.come(for: 99)
    #expect(pace.wait(staying, at: start) == .seconds(51))
    for turn in leaving { pace.leave(turn) }
    #expect(pace.wait(staying, at: start) == .seconds(1))
    #expect(pace.wait(staying, at: start + .seconds(1)) == .zero)
  }
}
