import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@testable import Entitlements

@Suite("The cache of decisions")
struct CachedDecisionsTests {
  private func scope(_ id: String, uid: UInt32 = 1) throws -> DecisionScope {
    DecisionScope(
      try DecisionEngine.authzen { _ in .decisions([]) }.point(), DecisionSubject(id: id, uid: uid), context: [:])
  }

  private func permit(_ seconds: Int64) -> CachedDecision {
    CachedDecision(
      verdict: .permit(lifetime: nil), answeredAt: MonotonicInstant(nanoseconds: 0),
      expiry: MonotonicInstant(nanoseconds: seconds * 1_000_000_000), expiresAt: nil)
  }

  /// Forgets part by part, as the cache does.
  private func remove(_ selection: DecisionSelection, from cached: inout CachedDecisions) -> Int {
    var removed = 0
    for part in 0..<DecisionScope.parts { removed += cached.remove(selection, selection.names, part: part) }
    return removed
  }

  @Test("is bounded in entries and bytes, and drops what was not used for longest")
  func bounds() throws {
    let now = MonotonicInstant(nanoseconds: 1)
    let scope = try scope("a")
    var cached = CachedDecisions(maxEntries: 10)
    cached.take([(ResourceName("used"), permit(60))], in: scope)
    for number in 0..<1000 {
      cached.take([(ResourceName("\(number)"), permit(60))], in: scope)
      #expect(cached.count <= 11)
      #expect(cached.decisions(about: [ResourceName("used")], in: scope, at: now)[0] != nil)
    }
    var small = CachedDecisions(maxBytes: 100_000)
    for number in 0..<100 {
      let name = ResourceName(String(repeating: "\(number % 10)", count: 10_000 + number))
      small.take([(name, permit(60))], in: scope)
    }
    #expect(small.count <= 12)
  }

  @Test("a user with very many requests, or very long names, displaces another's cached decisions")
  func owners() throws {
    let now = MonotonicInstant(nanoseconds: 1)
    let (mine, others) = (try scope("a", uid: 1), try scope("a", uid: 2))
    for (limits, pad) in [(CachedDecisions(maxEntries: 100), 0), (CachedDecisions(maxBytes: 100_000), 10_000)] {
      var cached = limits
      cached.take([(ResourceName("x"), permit(60))], in: others)
      for number in 0..<1000 {
        let name = ResourceName(String(repeating: "n", count: pad) + "\(number)")
        cached.take([(name, permit(60))], in: mine)
        #expect(cached.count <= 100)
      }
      #expect(cached.decisions(about: [ResourceName("x")], in: others, at: now)[0] != nil)
      let last = ResourceName(String(repeating: "n", count: pad) + "999")
      #expect(cached.decisions(about: [last], in: mine, at: now)[0] != nil)
      #expect(remove(DecisionSelection(), from: &cached) > 1 && cached.isEmpty)
    }
  }

  @Test("forgets exactly what is meant")
  func removing() throws {
    var cached = CachedDecisions()
    let (first, second) = (try scope("a"), try scope("b"))
    for scope in [first, second] {
      for name in ["x", "y"] { cached.take([(ResourceName(name), permit(60))], in: scope) }
    }
    #expect(remove(DecisionSelection(uid: 2), from: &cached) == 0)
    #expect(remove(DecisionSelection(uid: 1, provider: "other"), from: &cached) == 0)
    #expect(remove(DecisionSelection(uid: 1, resources: ["x", "z"]), from: &cached) == 2)
    #expect(cached.count == 2)
    #expect(remove(DecisionSelection(), from: &cached) == 2)
    #expect(cached.isEmpty)
  }

  /// Would catch: a user with very many scopes who has them looked through in a loop, while everybody else waits for
  /// each pass.
  @Test("what is forgotten is looked for in small parts, and all of it is found")
  func parts() throws {
    var cached = CachedDecisions()
    let point = try DecisionEngine.authzen { _ in .decisions([]) }.point()
    for number in 0..<6400 {
      let subject = DecisionSubject(id: "user-\(number)", uid: 1)
      cached.take([(ResourceName("x"), permit(60))], in: DecisionScope(point, subject, context: [:]))
    }
    let selection = DecisionSelection(uid: 1, resources: ["x", "y"])
    let sizes = (0..<DecisionScope.parts).map { cached.remove(selection, selection.names, part: $0) }
    #expect(cached.isEmpty && sizes.reduce(0, +) == 6400)
    #expect(sizes.allSatisfy { (25...300).contains($0) }, "\(sizes)")
  }

  /// Would catch: a user with very many scopes who has the thread that serves others look through all of them at once.
  @Test("a thread is blocked until all cached decisions have been searched")
  func inParts() throws {
    let cache = DecisionCache()
    let point = try DecisionEngine.authzen { _ in .decisions([]) }.point()
    let (name, now) = (ResourceName("x"), MonotonicInstant(nanoseconds: 1))
    for number in 0..<640 {
      let scope = DecisionScope(point, DecisionSubject(id: "user-\(number)", uid: 1), context: [:])
      let lookup = try #require(cache.begin([name], in: scope, disabled: [], at: now, DecisionWait()).lookup)
      #expect(cache.resolve(lookup, [(name, permit(60))]))
    }
    let executor = ManualExecutor()
    let removed = Locked<Int?>(nil)
    Task(executorPreference: executor) {
      let count = await cache.removeInParts(DecisionSelection(uid: 1))
      removed.withLock { $0 = count }
    }
    var left = cache.count
    while executor.runOne() {
      #expect(left - cache.count < 64)
      left = cache.count
    }
    #expect(removed.withLock { $0 } == 640 && left == 0)
  }

  @Test("a lookup gets a wrong result about whether its waiters stayed to the end")
  func wanted() throws {
    let cache = DecisionCache()
    let scope = try scope("a")
    func begin(_ name: String, _ wait: DecisionWait = DecisionWait()) throws -> UInt64 {
      let now = MonotonicInstant(nanoseconds: 1)
      return try #require(cache.begin([ResourceName(name)], in: scope, disabled: [], at: now, wait).lookup)
    }
    let answered = try begin("answered")
    #expect(cache.resolve(answered, [(ResourceName("answered"), permit(60))]))
    #expect(!cache.resolve(answered, []), "it is over")
    let wait = DecisionWait()
    let abandoned = try begin("abandoned", wait)
    cache.leave(wait, [abandoned])
    #expect(!cache.resolve(abandoned, [(ResourceName("abandoned"), permit(60))]))
    #expect(cache.lookupCount == 0)
  }
}
