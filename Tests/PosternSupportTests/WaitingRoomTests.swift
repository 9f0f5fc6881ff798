import PosternSupport
import PosternTestSupport
import Testing

@Suite("What waits for its owner")
struct WaitingRoomTests {
  private let clock = ManualClock()

  private func room(
    most: Int = 4, mostOfOne: Int = 2, maxBytes: Int = 100, maxBytesOfOne: Int = 60, margin: Duration = .zero
  ) -> WaitingRoom<String> {
    WaitingRoom(
      .init(most: most, mostOfOne: mostOfOne, maxBytes: maxBytes, maxBytesOfOne: maxBytesOfOne, margin: margin),
      clock: clock)
  }

  private func keep(
    _ room: WaitingRoom<String>, _ name: String, of owner: UInt32 = 1, bytes: Int = 1, seconds: Int = 10
  ) -> Bool {
    room.keep("value of \(name)", as: name, of: owner, byteCount: bytes, for: .seconds(seconds))
  }

  @Test("a name is good twice, for another owner, or after its time")
  func once() {
    let room = room()
    #expect(keep(room, "a") && room.value("a", of: 1) == "value of a" && room.count == 1)
    #expect(room.value("a", of: 2) == nil && room.take("a", of: 2) == nil && room.value("b", of: 1) == nil)
    #expect(room.take("a", of: 1)?.value == "value of a")
    #expect(room.take("a", of: 1) == nil && room.value("a", of: 1) == nil && room.count == 0)
    #expect(keep(room, "b"))
    clock.advance(by: .seconds(10))
    #expect(room.value("b", of: 1) == nil && room.take("b", of: 1) == nil && room.count == 0)
  }

  @Test(
    "more is kept than one owner or all may have, in number or bytes",
    arguments: [
      ([(1, 1), (1, 1), (1, 1)], [true, true, false]),
      ([(1, 40), (1, 21), (2, 21)], [true, false, true]),
      ([(1, 60), (2, 31), (2, 29), (3, 1)], [true, false, true, true]),
      ([(1, 1), (1, 1), (2, 1), (2, 1), (3, 1)], [true, true, true, true, false]),
    ] as [([(UInt32, Int)], [Bool])])
  func bounds(given: [(owner: UInt32, bytes: Int)], isKept: [Bool]) {
    let room = room()
    let kept = given.enumerated().map { keep(room, "\($0)", of: $1.owner, bytes: $1.bytes) }
    #expect(kept == isKept)
    // What goes makes room again, however it goes.
    for number in given.indices { room.remove("\(number)") }
    #expect(given.enumerated().map { keep(room, "\($0)", of: $1.owner, bytes: $1.bytes) } == isKept)
    clock.advance(by: .seconds(10))
    #expect(given.enumerated().map { keep(room, "again \($0)", of: $1.owner, bytes: $1.bytes) } == isKept)
  }

  /// Would catch: two users who between them leave no room for a third, in number or bytes.
  @Test("a few owners take all the room")
  func shares() {
    for bytes in [1, 100] {
      let room = room(most: 100, mostOfOne: 100, maxBytes: bytes * 100, maxBytesOfOne: bytes * 100)
      var kept: [Int] = []
      for owner in 1...3 as ClosedRange<UInt32> {
        kept.append((0..<100).prefix { keep(room, "\(owner) \($0)", of: owner, bytes: bytes) }.count)
      }
      #expect(kept[0] < 76 && kept[1] > 15 && kept[2] > 3, "\(kept)")
      #expect(keep(room, "one more", of: 4, bytes: bytes))
      // What goes is there for those who have less, not for who has most.
      room.remove("1 0")
      #expect(!keep(room, "1 again", of: 1, bytes: bytes) && keep(room, "5 0", of: 5, bytes: bytes))
    }
    // Nobody's neighbours: what one may have is not less.
    let alone = self.room()
    #expect(keep(alone, "a", bytes: 30) && keep(alone, "b", bytes: 30))
  }

  @Test("what is put back waits anew, is counted twice, or can be taken once more than it was")
  func back() throws {
    let room = room()
    #expect(keep(room, "a", bytes: 60))
    clock.advance(by: .seconds(9))
    let taken = try #require(room.take("a", of: 1))
    room.putBack(taken)
    room.putBack(taken)
    #expect(room.count == 1 && !keep(room, "b", bytes: 1) && keep(room, "c", of: 2, bytes: 19))
    clock.advance(by: .seconds(1))
    #expect(room.take("a", of: 1) == nil)
    #expect(keep(room, "d", bytes: 60))
  }

  @Test("what is over is prolonged beyond the time that is given for it, or holds the place of somebody else")
  func late() {
    let room = room(mostOfOne: 1, margin: .seconds(5))
    #expect(keep(room, "a"))
    clock.advance(by: .seconds(14))
    #expect(!room.prolong("a", of: 1) && !room.prolong("a", of: 2, late: .seconds(5)))
    #expect(room.prolong("a", of: 1, late: .seconds(5)) && room.value("a", of: 1) != nil)
    clock.advance(by: .seconds(9))
    #expect(room.prolong("a", of: 1) && !keep(room, "b"))
    clock.advance(by: .seconds(15))
    #expect(!room.prolong("a", of: 1, late: .seconds(5)))
    #expect(keep(room, "b") && keep(room, "c", of: 2))
    clock.advance(by: .seconds(11))
    // Over, but within the margin: it goes when its place is needed.
    #expect(keep(room, "d", of: 3) && room.prolong("c", of: 2, late: .seconds(5)))
    #expect(keep(room, "e") && !room.prolong("b", of: 1, late: .seconds(5)))
  }
}
