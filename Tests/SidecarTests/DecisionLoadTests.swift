import PosternSupport
import Testing

@testable import PosternObservability
@testable import Sidecar

@Suite("What calls of preauthorize hold")
struct DecisionLoadTests {
  private static let large = DecisionLoad.weight(of: (0..<10_000).map { "channel-\($0)" }, contextBytes: 0)

  /// Would catch: hundreds of calls of one user about ten thousand resources each, which take a gigabyte; and some
  /// dozens that do not go.
  @Test("one user requests decisions on resources until the memory is used up")
  func ofOne() {
    var load = DecisionLoad.budget
    var count = 0
    while count < 1000, load.take(Self.large, for: 1) { count += 1 }
    #expect((36...60).contains(count))
    let (own, others) = (load.take(Self.large, for: 1), load.take(Self.large, for: 2))
    #expect(!own && others, "there is memory for others")
    load.giveBack(Self.large, for: 1)
    let again = load.take(Self.large, for: 1)
    #expect(again)
  }

  /// Would catch: the largest call rejected although no other call is running, or long names and contexts not counted.
  @Test("the largest call goes when it is alone; what its names and its context take counts")
  func sizes() {
    let names = (0..<256).map { _ in String(repeating: "n", count: 65_536) }
    let weight = DecisionLoad.weight(of: names, contextBytes: 65_536)
    #expect(weight > 16 << 20 && DecisionLoad.budget.allows(weight, for: 1))
    #expect(DecisionLoad.weight(of: ["a"], contextBytes: 65_536) > 2 * 65_536)
  }
}
