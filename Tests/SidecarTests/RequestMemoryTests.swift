import Testing

@testable import Sidecar

@Suite struct RequestMemoryTests {
  private static let large = 15 << 20

  private func use(
    _ bytes: Int, uid: UInt32 = 1, level: String? = nil, user: String? = nil
  ) -> RequestMemory.Use {
    RequestMemory.Use(bytes: bytes, uid: uid, level: level, user: user)
  }

  /// Takes as many as it gets, at most 100.
  private func takeAll(_ use: RequestMemory.Use, of memory: inout RequestMemory) -> Int {
    for number in 0..<100 where !memory.take(use) { return number }
    return 100
  }

  @Test("large bodies of one uid keep another from sending, or small requests of its own")
  func uids() {
    var memory = RequestMemory()
    #expect(takeAll(use(Self.large), of: &memory) == 12)
    #expect(takeAll(use(Self.large, user: "alice"), of: &memory) == 4, "visitors leave room for users")
    #expect(takeAll(use(64 << 10), of: &memory) == 100)
    #expect(takeAll(use(Self.large, uid: 2), of: &memory) > 0)
    memory.giveBack(use(64 << 10))
    memory.giveBack(use(Self.large))
    #expect(takeAll(use(Self.large), of: &memory) <= 1)
  }

  @Test("the bodies of one level keep its maker, or a sibling, from sending")
  func levels() {
    var memory = RequestMemory()
    #expect(takeAll(use(Self.large, level: "a"), of: &memory) == 4)
    #expect(takeAll(use(Self.large, level: "b"), of: &memory) == 4)
    #expect(takeAll(use(Self.large), of: &memory) == 4)
    for _ in 0..<4 { memory.giveBack(use(Self.large, level: "a")) }
    #expect(takeAll(use(Self.large, level: "a"), of: &memory) == 4)
  }

  @Test("the bodies of one user of an application keep its other users from sending")
  func sessions() {
    var memory = RequestMemory()
    #expect(takeAll(use(Self.large, user: "alice"), of: &memory) == 4)
    #expect(takeAll(use(Self.large, user: "bob"), of: &memory) == 4)
    #expect(takeAll(use(Self.large, uid: 2, user: "alice"), of: &memory) == 4)
    memory.giveBack(use(Self.large, user: "alice"))
    #expect(takeAll(use(Self.large, user: "alice"), of: &memory) == 1)
  }
}
