import PosternProtocol
import PosternSupport
import Sidecar
import Testing

/// Which endpoints there may be, who sees them, and which end together: no clock and no sockets.
@Suite("EndpointTree")
struct EndpointTreeTests {
  private static let rule = AccessRules.Rule(uid: nil, gid: nil, methods: nil)
  private static let start = MonotonicInstant(nanoseconds: 1_000_000_000)

  /// Adds an endpoint whose sockets are made at once.
  @discardableResult
  private static func add(
    _ tree: inout EndpointTree, uid: UInt32 = 1, under parent: Narrowing? = nil, expiresIn: Duration? = nil,
    connection: UInt64? = nil, limits: EndpointLimits = EndpointLimits()
  ) throws -> Narrowing {
    let narrowing = try Narrowing.make(
      limits, id: EndpointHandle.random(), under: parent, rule: rule, expiry: expiresIn.map { start + $0 }, at: start)
    var facts = EndpointFacts(narrowing, of: Peer(uid: uid, gid: 0), createdAt: Timestamp(secondsSinceEpoch: 0))
    facts.connection = connection
    try tree.add(narrowing, facts)
    let isThere = tree.opened(narrowing.id, at: EndpointPaths(path: "/x", httpPath: nil))
    #expect(isThere)
    return narrowing
  }

  private static func list(
    _ tree: EndpointTree, _ uid: UInt32, below level: Narrowing? = nil, after: Int64 = 0, atMost: Int = 100
  ) -> [String] {
    tree.entries(of: uid, below: level, after: after, atMost: atMost).map(\.id)
  }

  // An end that leaves a descendant, ends a sibling, or ends a level before those that were made through it.
  @Test("the end of an endpoint ends all that were made through it, the deepest first, and no other")
  func subtree() throws {
    var tree = EndpointTree()
    let top = try Self.add(&tree)
    let left = try Self.add(&tree, under: top)
    let right = try Self.add(&tree, under: top)
    let deep = try Self.add(&tree, under: left)
    let other = try Self.add(&tree)
    let ended1 = tree.end(left.id).map(\.id)
    #expect(ended1 == [deep.id, left.id])
    #expect(Self.list(tree, 1) == [top.id, right.id, other.id])
    let ended2 = tree.end(top.id).map(\.id)
    #expect(ended2 == [right.id, top.id])
    let ended9 = tree.end(top.id)
    #expect(ended9.isEmpty)
    #expect(Self.list(tree, 1) == [other.id] && tree.count == 1)
  }

  // A level of `narrow` between two endpoints that cuts the tree in two.
  @Test("an endpoint made behind a narrow ends with the endpoint of that connection")
  func throughNarrow() throws {
    var tree = EndpointTree()
    let top = try Self.add(&tree)
    let narrow = try Narrowing.make(EndpointLimits(), id: "narrow", under: top, rule: Self.rule, at: Self.start)
    let below = try Self.add(&tree, under: narrow)
    // The connection that gave something up sees what it made, another connection of the endpoint all of it.
    #expect(Self.list(tree, 1, below: narrow) == [below.id] && Self.list(tree, 1, below: top) == [below.id])
    let own = try Narrowing.make(EndpointLimits(), id: "narrow", under: nil, rule: Self.rule, at: Self.start)
    let free = try Self.add(&tree, under: own)
    let ended3 = tree.end(top.id).map(\.id)
    #expect(ended3 == [below.id, top.id])
    #expect(Self.list(tree, 1) == [free.id])
  }

  // A race: the maker's endpoint ends while its child's is being made.
  @Test("nothing is made through an endpoint that has ended, and what was being made has no sockets")
  func afterTheEnd() throws {
    var tree = EndpointTree()
    let top = try Self.add(&tree)
    let child = try Narrowing.make(
      EndpointLimits(), id: EndpointHandle.random(), under: top, rule: Self.rule, at: Self.start)
    try tree.add(child, EndpointFacts(child, of: Peer(uid: 1, gid: 0), createdAt: Timestamp(secondsSinceEpoch: 0)))
    #expect(Self.list(tree, 1) == [top.id], "Without sockets it is not listed")
    let ended4 = tree.end(top.id).map(\.id)
    #expect(ended4 == [child.id, top.id])
    let isThere = tree.opened(child.id, at: EndpointPaths(path: "/x", httpPath: nil))
    #expect(!isThere)
    #expect(throws: EndpointTree.Rejection.ended) { try Self.add(&tree, under: top) }
    #expect(throws: EndpointTree.Rejection.ended) { try Self.add(&tree, under: child) }
    #expect(tree.count == 0)
  }

  // A timer that wakes up late or for nothing, and children that outlive what they were made through.
  @Test("what expires first ends first, with what was made through it")
  func expiry() throws {
    var tree = EndpointTree()
    #expect(tree.nextExpiry == nil)
    let late = try Self.add(&tree, expiresIn: .seconds(20))
    let early = try Self.add(&tree, expiresIn: .seconds(10))
    let child = try Self.add(&tree, under: early, expiresIn: .seconds(60))
    let never = try Self.add(&tree)
    #expect(child.expiry == early.expiry)
    #expect(tree.nextExpiry == Self.start + .seconds(10))
    let tooEarly = tree.endExpired(at: Self.start + .milliseconds(9_999))
    #expect(tooEarly.isEmpty)
    let ended5 = tree.endExpired(at: Self.start + .seconds(10)).map(\.id)
    #expect(ended5 == [child.id, early.id])
    #expect(tree.nextExpiry == Self.start + .seconds(20))
    let another = try Self.add(&tree, expiresIn: .seconds(15))
    let ended6 = tree.endExpired(at: Self.start + .seconds(30)).map(\.id)
    #expect(ended6 == [another.id, late.id])
    #expect(tree.nextExpiry == nil && Self.list(tree, 1) == [never.id])
  }

  // Endpoints that a child leaves behind when the connection that it had is gone.
  @Test("a connection's end ends what is bound to it, with what was made through that")
  func connections() throws {
    var tree = EndpointTree()
    let bound = try Self.add(&tree, connection: 7)
    let child = try Self.add(&tree, under: bound)
    let own = try Self.add(&tree, connection: 8)
    let free = try Self.add(&tree)
    let unbound = tree.end(boundTo: 9)
    #expect(unbound.isEmpty)
    let ended7 = tree.end(boundTo: 7).map(\.id)
    #expect(ended7 == [child.id, bound.id])
    let ended10 = tree.end(boundTo: 7)
    #expect(ended10.isEmpty)
    #expect(Self.list(tree, 1) == [own.id, free.id])
  }

  // A child that learns of its siblings, or a user who learns of another's endpoints, or ends them.
  @Test("the main socket sees all of its user, an endpoint what was made through it, and neither another user's")
  func visibility() throws {
    var tree = EndpointTree()
    let mine = try Self.add(&tree, uid: 1)
    let child = try Self.add(&tree, uid: 1, under: mine)
    let sibling = try Self.add(&tree, uid: 1)
    let foreign = try Self.add(&tree, uid: 2)
    #expect(Self.list(tree, 1) == [mine.id, child.id, sibling.id])
    #expect(Self.list(tree, 2) == [foreign.id] && Self.list(tree, 3).isEmpty)
    #expect(Self.list(tree, 1, below: mine) == [child.id])
    #expect(Self.list(tree, 1, below: child).isEmpty)
    #expect(tree.sees(sibling.id, uid: 1, nil) && !tree.sees(foreign.id, uid: 1, nil))
    #expect(tree.sees(child.id, uid: 1, mine) && !tree.sees(mine.id, uid: 1, mine))
    #expect(!tree.sees(sibling.id, uid: 1, mine) && !tree.sees(mine.id, uid: 1, child))
    #expect(!tree.sees("ep_unknown", uid: 1, nil))
  }

  // Pages that leave out or list twice what is there when others end between them.
  @Test("a list goes on behind a position, whatever has ended meanwhile")
  func pages() throws {
    var tree = EndpointTree()
    let all = try (0..<5).map { _ in try Self.add(&tree) }
    let first = tree.entries(of: 1, below: nil, after: 0, atMost: 2)
    #expect(first.map(\.id) == [all[0].id, all[1].id])
    _ = tree.end(all[1].id)
    _ = tree.end(all[2].id)
    #expect(Self.list(tree, 1, after: first[1].number, atMost: 2) == [all[3].id, all[4].id])
    #expect(Self.list(tree, 1, after: .max).isEmpty)
  }

  // One user, or one child, who takes all endpoints.
  @Test("a user at its limit stops no other, and a child leaves some to its maker")
  func limits() throws {
    var tree = EndpointTree()
    let top = try Self.add(&tree)
    var last = top
    while let next = try? Self.add(&tree, under: top) { last = next }
    #expect(tree.count == EndpointTree.capacityBelow)
    while (try? Self.add(&tree)) != nil {}
    #expect(tree.count == EndpointTree.capacityPerUID)
    #expect(throws: EndpointTree.Rejection.tooMany) { try Self.add(&tree) }
    try Self.add(&tree, uid: 2)
    _ = tree.end(last.id)
    try Self.add(&tree)
    for uid in UInt32(2)...4 { while (try? Self.add(&tree, uid: uid)) != nil {} }
    #expect(tree.count <= EndpointTree.capacity)
    try Self.add(&tree, uid: 10)
  }

  // Endpoints with lists of megabytes, which are few in number.
  @Test("lists are bounded in bytes, for each user")
  func bytes() throws {
    var tree = EndpointTree()
    let names = (0..<200).map { "\($0)" + String(repeating: "x", count: 200) }
    let limits = EndpointLimits(resources: names, sessions: names)
    while (try? Self.add(&tree, limits: limits)) != nil {}
    #expect((10..<EndpointTree.capacityPerUID).contains(tree.count))
    #expect(throws: EndpointTree.Rejection.tooMany) { try Self.add(&tree, limits: limits) }
    try Self.add(&tree, uid: 2, limits: limits)
  }

  // A tree that keeps something of what has ended: it would grow without bound.
  @Test("what has ended leaves nothing behind")
  func leavesNothing() throws {
    var tree = EndpointTree()
    for round in 0..<3 {
      var chain: [Narrowing] = []
      for depth in 0..<8 {
        chain.append(
          try Self.add(&tree, under: chain.last, expiresIn: .seconds(depth + 1), connection: UInt64(round)))
      }
      let ended8 = tree.end(chain[0].id).map(\.id)
      #expect(ended8 == chain.reversed().map(\.id))
    }
    let bound = tree.end(boundTo: 0)
    #expect(tree.count == 0 && Self.list(tree, 1).isEmpty && bound.isEmpty)
    // All of the limit is free again.
    for _ in 0..<EndpointTree.capacityPerUID { try Self.add(&tree) }
  }
}
