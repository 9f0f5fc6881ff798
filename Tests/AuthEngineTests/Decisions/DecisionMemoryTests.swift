import HTTPMessages
import JSON
import Support
import TestSupport
import Testing

@testable import AuthEngine

@Suite("The memory of decisions")
struct DecisionMemoryTests {
  private func scope(_ id: String) throws -> DecisionScope {
    DecisionScope(
      try DecisionEngine.authzen { _ in .decisions([]) }.point(), DecisionSubject(id: id, owner: 1), context: [:])
  }

  private func permit(_ seconds: Int64) -> KeptDecision {
    KeptDecision(
      verdict: .permit(lifetime: nil), answeredAt: MonotonicInstant(nanoseconds: 0),
      expiry: MonotonicInstant(nanoseconds: seconds * 1_000_000_000), expiresAt: nil)
  }

  @Test("is bounded in entries and bytes, and drops what was not used for longest")
  func bounds() throws {
    let now = MonotonicInstant(nanoseconds: 1)
    let scope = try scope("a")
    var memory = DecisionMemory(maxEntries: 10)
    memory.keep(permit(60), about: ResourceName("used"), in: scope)
    for number in 0..<1000 {
      memory.keep(permit(60), about: ResourceName("\(number)"), in: scope)
      #expect(memory.count <= 11)
      #expect(memory.decisions(about: [ResourceName("used")], in: scope, at: now)[0] != nil)
    }
    var small = DecisionMemory(maxBytes: 100_000)
    for number in 0..<100 {
      small.keep(
        permit(60), about: ResourceName(String(repeating: "\(number % 10)", count: 10_000 + number)), in: scope)
    }
    #expect(small.count <= 12)
  }

  @Test("forgets exactly what is meant")
  func removing() throws {
    var memory = DecisionMemory()
    let (first, second) = (try scope("a"), try scope("b"))
    for scope in [first, second] {
      for name in ["x", "y"] { memory.keep(permit(60), about: ResourceName(name), in: scope) }
    }
    #expect(memory.remove(DecisionSelection(owner: 2)) == 0)
    #expect(memory.remove(DecisionSelection(owner: 1, provider: "other")) == 0)
    #expect(memory.remove(DecisionSelection(owner: 1, resources: ["x", "z"])) == 2)
    #expect(memory.count == 2)
    #expect(memory.remove(DecisionSelection()) == 2)
    #expect(memory.isEmpty)
  }

  @Test("who looks something up is told wrongly whether anybody wanted it to the end")
  func wanted() throws {
    let board = DecisionBoard()
    let scope = try scope("a")
    func begin(_ name: String, _ wait: DecisionWait = DecisionWait()) throws -> UInt64 {
      let now = MonotonicInstant(nanoseconds: 1)
      return try #require(board.begin([ResourceName(name)], in: scope, disabled: [], at: now, wait).lookup)
    }
    let answered = try begin("answered")
    #expect(board.resolve(answered, [(ResourceName("answered"), permit(60))]))
    #expect(!board.resolve(answered, []), "it is over")
    let wait = DecisionWait()
    let abandoned = try begin("abandoned", wait)
    board.leave(wait, [abandoned])
    #expect(!board.resolve(abandoned, [(ResourceName("abandoned"), permit(60))]))
    #expect(board.lookupCount == 0)
  }
}
