import AuthEngine
import EngineTestSupport
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@testable import Entitlements

/// Lookups of one user cost others, who wait for the same lock, next to nothing.
@Suite("Decisions under way, behind the lock that all share")
struct InFlightDecisionsTests {
  private static let now = MonotonicInstant(nanoseconds: 1)

  private let point: DecisionPoint
  private let cache = DecisionCache()

  init() throws { point = try DecisionEngine.authzen { _ in .decisions([]) }.point() }

  private func scope(_ id: String, context: String = "") -> DecisionScope {
    // Bytes of its own each time, as each call has.
    DecisionScope(point, DecisionSubject(id: id, uid: 1), context: ["pad": .string(context)])
  }

  private func names(_ count: Int) -> [ResourceName] { (0..<count).map { ResourceName("r\($0)") } }

  @discardableResult
  private func begin(
    _ names: [ResourceName], in scope: DecisionScope, _ wait: DecisionWait = DecisionWait()
  ) -> InFlightDecisions.Plan {
    cache.begin(names, in: scope, disabled: [], at: Self.now, wait)
  }

  /// The processor time of this thread that `body` takes.
  private func cost(_ body: () -> Void) -> Int64 {
    let before = ThreadTime.now
    body()
    return ThreadTime.now - before
  }

  private static func permit(_ name: ResourceName) -> (ResourceName, CachedDecision) {
    (
      name,
      CachedDecision(
        verdict: .permit(lifetime: nil), answeredAt: now, expiry: now + .seconds(60), expiresAt: nil)
    )
  }

  /// Would catch: `invalidateDecisions` of ten thousand names that are looked up in each of a user's scopes.
  @Test("each removed name is looked up in each scope, however few lookups there are")
  func forgetting() {
    for number in 0..<300 { begin(names(1), in: scope("user-\(number)")) }
    var selection = DecisionSelection(uid: 1, resources: (0..<3000).map { "n\($0)" })
    let making = cost { selection.resources = selection.names?.map(\.text) }
    let forgetting = cost { _ = cache.remove(selection) }
    #expect(forgetting < 20 * making, "\(forgetting) \(making)")
  }

  /// Would catch: all of a user's scopes gone through at once, with the lock held, or on the thread that serves others.
  @Test("lookups of removed decisions are detached all under one lock, or not all of them are")
  func parts() {
    var joinable = JoinableLookups()
    let scopes = (0..<640).map { scope("user-\($0)") }
    for scope in scopes { joinable.put([ResourceName("x"): 1, ResourceName("y"): 2], in: scope) }
    let selection = DecisionSelection(uid: 1, resources: ["x", "z"])
    func open() -> Int {
      scopes.count { scope in
        let names = joinable.take(scope)
        joinable.put(names, in: scope)
        return names[ResourceName("x")] != nil
      }
    }
    joinable.close(DecisionSelection(uid: 2), nil, part: scopes[0].part)
    var left = open()
    #expect(left == 640)
    for part in 0..<DecisionScope.parts {
      joinable.close(selection, selection.names, part: part)
      let rest = open()
      #expect(left - rest < 64)
      left = rest
    }
    #expect(left == 0 && joinable.take(scopes[0]) == [ResourceName("y"): 2])
    joinable.put([ResourceName("y"): 2], in: scopes[0])
    for part in 0..<DecisionScope.parts { joinable.close(DecisionSelection(), nil, part: part) }
    #expect(scopes.allSatisfy { joinable.take($0).isEmpty })
  }

  /// Would catch: calls that leave looked for among all who wait, once for each resource: seconds for three hundred
  /// closed connections.
  @Test("a call that leaves costs as much as there are resources and calls that wait for them")
  func leaving() {
    let (names, scope) = (names(1000), scope("alice"))
    let waits = (0..<60).map { _ in DecisionWait() }
    var joined: Set<UInt64> = []
    let joining = cost { for wait in waits { joined.formUnion(begin(names, in: scope, wait).joined) } }
    #expect(joined.count == 1)
    let leaving = cost { for wait in waits { cache.leave(wait, joined) } }
    #expect(leaving < joining, "\(leaving) \(joining)")
    #expect(cache.lookupCount == 0)
    #expect(begin(names, in: scope).missing.count == 1000, "no lookup is about them any more")
  }

  /// Would catch: the whole context compared for each resource, with the lock held.
  @Test("to join a lookup, or to cache a decision, costs as much as there are resources and bytes of context")
  func contexts() throws {
    let names = names(2000)
    func cost(_ pad: Int) throws -> Int64 {
      let pad = String(repeating: "x", count: pad)
      let lookup = try #require(begin(names, in: scope("alice", context: pad)).lookup)
      let joiner = scope("alice", context: pad)
      let joining = self.cost { begin(names, in: joiner) }
      // Two times: what is there is replaced.
      let half = names[..<1000].map(Self.permit)
      let next = scope("alice", context: pad)
      let caching = self.cost {
        _ = cache.resolve(lookup, half)
        _ = cache.begin(Array(names[..<1000]), in: next, disabled: [.localCache], at: Self.now, DecisionWait()).lookup
          .map { cache.resolve($0, half) }
        begin(Array(names[..<1000]), in: joiner)
      }
      return joining + caching
    }
    let (small, large) = (try cost(1), try cost(60_000))
    #expect(large < 8 * small, "\(large) \(small)")
  }

  /// Would catch: a decision delivered to a call that did not request it, delivered twice, or delivered to a call that
  /// has left.
  @Test("each call gets the decisions that it waits for, of each lookup")
  func delivery() async throws {
    let scope = scope("alice")
    let (a, b, c) = (ResourceName("a"), ResourceName("b"), ResourceName("c"))
    let (first, second, third) = (DecisionWait(), DecisionWait(), DecisionWait())
    let one = begin([a, b], in: scope, first)
    let two = begin([b, c], in: scope, second)
    let three = begin([c, a], in: scope, third)
    let (left, right) = (try #require(one.lookup), try #require(two.lookup))
    #expect(two.missing == [c] && two.joined == [left, right] && three.lookup == nil)
    third.end()
    cache.leave(third, three.joined)
    #expect(cache.resolve(left, [Self.permit(a), Self.permit(b)]))
    #expect(cache.resolve(right, [Self.permit(c)]))
    #expect(Set(await first.decisions(one.awaited).keys) == [a, b])
    #expect(Set(await second.decisions(two.awaited).keys) == [b, c])
    #expect(await third.decisions(three.awaited).isEmpty)
    #expect(cache.lookupCount == 0 && cache.count == 3)
  }
}
