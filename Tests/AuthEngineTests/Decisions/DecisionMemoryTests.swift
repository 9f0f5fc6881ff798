import AuthEngine
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@testable import Entitlements

@Suite("The memory of decisions")
struct DecisionMemoryTests {
  private func scope(_ id: String, owner: UInt32 = 1) throws -> DecisionScope {
    DecisionScope(
      try DecisionEngine.authzen { _ in .decisions([]) }.point(), DecisionSubject(id: id, owner: owner), context: [:])
  }

  private func permit(_ seconds: Int64) -> KeptDecision {
    KeptDecision(
      verdict: .permit(lifetime: nil), answeredAt: MonotonicInstant(nanoseconds: 0),
      expiry: MonotonicInstant(nanoseconds: seconds * 1_000_000_000), expiresAt: nil)
  }

  /// Forgets part by part, as the board does.
  private func remove(_ selection: DecisionSelection, from memory: inout DecisionMemory) -> Int {
    var removed = 0
    for part in 0..<DecisionScope.parts { removed += memory.remove(selection, selection.names, part: part) }
    return removed
  }

  @Test("is bounded in entries and bytes, and drops what was not used for longest")
  func bounds() throws {
    let now = MonotonicInstant(nanoseconds: 1)
    let scope = try scope("a")
    var memory = DecisionMemory(maxEntries: 10)
    memory.take([(ResourceName("used"), permit(60))], in: scope)
    for number in 0..<1000 {
      memory.take([(ResourceName("\(number)"), permit(60))], in: scope)
      #expect(memory.count <= 11)
      #expect(memory.decisions(about: [ResourceName("used")], in: scope, at: now)[0] != nil)
    }
    var small = DecisionMemory(maxBytes: 100_000)
    for number in 0..<100 {
      let name = ResourceName(String(repeating: "\(number % 10)", count: 10_000 + number))
      small.take([(name, permit(60))], in: scope)
    }
    #expect(small.count <= 12)
  }

  @Test("a user who asks about very much, or very long names, makes another's decisions be asked again")
  func owners() throws {
    let now = MonotonicInstant(nanoseconds: 1)
    let (mine, others) = (try scope("a", owner: 1), try scope("a", owner: 2))
    for (limits, pad) in [(DecisionMemory(maxEntries: 100), 0), (DecisionMemory(maxBytes: 100_000), 10_000)] {
      var memory = limits
      memory.take([(ResourceName("x"), permit(60))], in: others)
      for number in 0..<1000 {
        let name = ResourceName(String(repeating: "n", count: pad) + "\(number)")
        memory.take([(name, permit(60))], in: mine)
        #expect(memory.count <= 100)
      }
      #expect(memory.decisions(about: [ResourceName("x")], in: others, at: now)[0] != nil)
      let last = ResourceName(String(repeating: "n", count: pad) + "999")
      #expect(memory.decisions(about: [last], in: mine, at: now)[0] != nil)
      #expect(remove(DecisionSelection(), from: &memory) > 1 && memory.isEmpty)
    }
  }

  @Test("forgets exactly what is meant")
  func removing() throws {
    var memory = DecisionMemory()
    let (first, second) = (try scope("a"), try scope("b"))
    for scope in [first, second] {
      for name in ["x", "y"] { memory.take([(ResourceName(name), permit(60))], in: scope) }
    }
    #expect(remove(DecisionSelection(owner: 2), from: &memory) == 0)
    #expect(remove(DecisionSelection(owner: 1, provider: "other"), from: &memory) == 0)
    #expect(remove(DecisionSelection(owner: 1, resources: ["x", "z"]), from: &memory) == 2)
    #expect(memory.count == 2)
    #expect(remove(DecisionSelection(), from: &memory) == 2)
    #expect(memory.isEmpty)
  }

  /// Would catch: a user with very many scopes who has them looked through in a loop, while everybody else waits for
  /// each pass.
  @Test("what is forgotten is looked for in small parts, and all of it is found")
  func parts() throws {
    var memory = DecisionMemory()
    let point = try DecisionEngine.authzen { _ in .decisions([]) }.point()
    for number in 0..<6400 {
      let subject = DecisionSubject(id: "user-\(number)", owner: 1)
      memory.take([(ResourceName("x"), permit(60))], in: DecisionScope(point, subject, context: [:]))
    }
    let selection = DecisionSelection(owner: 1, resources: ["x", "y"])
    let sizes = (0..<DecisionScope.parts).map { memory.remove(selection, selection.names, part: $0) }
    #expect(memory.isEmpty && sizes.reduce(0, +) == 6400)
    #expect(sizes.allSatisfy { (25...300).contains($0) }, "\(sizes)")
  }

  /// Would catch: a user with very many scopes who has the thread that serves others look through all of them at once.
  @Test("a thread is held until all that is to be forgotten has been looked for")
  func inTurns() throws {
    let board = DecisionCache()
    let point = try DecisionEngine.authzen { _ in .decisions([]) }.point()
    let (name, now) = (ResourceName("x"), MonotonicInstant(nanoseconds: 1))
    for number in 0..<640 {
      let scope = DecisionScope(point, DecisionSubject(id: "user-\(number)", owner: 1), context: [:])
      let lookup = try #require(board.begin([name], in: scope, disabled: [], at: now, DecisionWait()).lookup)
      #expect(board.resolve(lookup, [(name, permit(60))]))
    }
    let executor = ManualExecutor()
    let removed = Locked<Int?>(nil)
    Task(executorPreference: executor) {
      let count = await board.removeInTurns(DecisionSelection(owner: 1))
      removed.withLock { $0 = count }
    }
    var left = board.count
    while executor.runOne() {
      #expect(left - board.count < 64)
      left = board.count
    }
    #expect(removed.withLock { $0 } == 640 && left == 0)
  }

  @Test("who looks something up is told wrongly whether anybody wanted it to the end")
  func wanted() throws {
    let board = DecisionCache()
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
