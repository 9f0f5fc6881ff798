import Testing

@testable import Sidecar

@Suite("What calls of preauthorize hold")
struct DecisionLoadTests {
  private static let large = DecisionLoad.weight(of: (0..<10_000).map { "channel-\($0)" }, contextBytes: 0)

  /// Would catch: hundreds of calls of one user about ten thousand resources each, which take a gigabyte; and some
  /// dozens that do not go.
  @Test("one user has as many resources asked about at one time as there is memory")
  func ofOne() {
    let load = DecisionLoad()
    var count = 0
    while count < 1000, load.begin(Self.large, of: 1) { count += 1 }
    #expect((36...60).contains(count))
    #expect(!load.begin(Self.large, of: 1) && load.begin(Self.large, of: 2), "others have room")
    load.end(Self.large, of: 1)
    #expect(load.begin(Self.large, of: 1))
  }

  /// Would catch: the longest message about the longest names refused although nothing else is under way, or long names
  /// and contexts not counted.
  @Test("the largest call goes when it is alone; what its names and its context take counts")
  func sizes() {
    let names = (0..<256).map { _ in String(repeating: "n", count: 65_536) }
    let weight = DecisionLoad.weight(of: names, contextBytes: 65_536)
    #expect(weight > 16 << 20 && DecisionLoad().begin(weight, of: 1))
    #expect(DecisionLoad.weight(of: ["a"], contextBytes: 65_536) > 2 * 65_536)
  }

  /// Would catch: two users together who leave a third without any room.
  @Test("nobody has more than three times what is left free, and all of it comes back")
  func shares() {
    let load = DecisionLoad(.init(most: 100, mostOfOne: 70))
    #expect(load.begin(70, of: 1) && !load.begin(25, of: 2) && load.begin(20, of: 2) && load.begin(7, of: 3))
    for (weight, owner) in [(70, 1), (20, 2), (7, 3)] as [(Int, UInt32)] { load.end(weight, of: owner) }
    #expect(load.begin(70, of: 3))
  }
}
