import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport
import PosternTestSupport
import Sidecar
import Testing

@Suite("Levels of a chain")
struct NarrowingTests {
  private let clock = ManualClock()
  private let rule = AccessRules.Rule(
    uid: 1, gid: nil, methods: ["fetchResource", "getSession", "createSession", "getAccessToken", "health"],
    scope: PeerScope(resources: ["a", "b"]))

  private func make(
    _ limits: EndpointLimits, under parent: Narrowing? = nil, expiry: MonotonicInstant? = nil
  ) throws(RPCFault) -> Narrowing {
    try Narrowing.make(limits, id: "e", under: parent, rule: rule, expiry: expiry, at: clock.monotonicNow)
  }

  private func faultOf(_ limits: EndpointLimits, under parent: Narrowing? = nil) -> RPCFault? {
    do throws(RPCFault) {
      _ = try make(limits, under: parent)
      return nil
    } catch {
      return error
    }
  }

  static let malformedLimits: [(EndpointLimits, path: String)] = [
    (EndpointLimits(paths: [""]), "/paths/0"),
    (EndpointLimits(paths: ["a", "/a"]), "/paths/1"),
    (EndpointLimits(paths: ["/"]), "/paths/0"),
    (EndpointLimits(paths: ["a//b"]), "/paths/0"),
    (EndpointLimits(paths: ["a//"]), "/paths/0"),
    (EndpointLimits(paths: ["../a"]), "/paths/0"),
    (EndpointLimits(paths: ["a/./b"]), "/paths/0"),
    (EndpointLimits(paths: ["a/%2e%2E/b"]), "/paths/0"),
    (EndpointLimits(paths: ["a%2Fb"]), "/paths/0"),
    (EndpointLimits(paths: ["a%5cb"]), "/paths/0"),
    (EndpointLimits(paths: ["a\\b"]), "/paths/0"),
    (EndpointLimits(paths: ["a%00b"]), "/paths/0"),
    (EndpointLimits(paths: ["a%25"]), "/paths/0"),
    (EndpointLimits(paths: ["a%2"]), "/paths/0"),
    (EndpointLimits(paths: ["a%zz"]), "/paths/0"),
    (EndpointLimits(paths: ["a;x"]), "/paths/0"),
    (EndpointLimits(paths: ["a?b"]), "/paths/0"),
    (EndpointLimits(paths: ["a#b"]), "/paths/0"),
    (EndpointLimits(httpMethods: ["get"]), "/httpMethods/0"),
    (EndpointLimits(httpMethods: ["GET", "A B"]), "/httpMethods/1"),
    (EndpointLimits(methods: [""]), "/methods/0"),
    (EndpointLimits(resources: Array(repeating: "a", count: 257)), "/resources"),
    (EndpointLimits(sessions: [String(repeating: "s", count: 257)]), "/sessions/0"),
    (EndpointLimits(rate: EndpointRate(perSecond: 0, burst: 1)), "/rate/perSecond"),
    (EndpointLimits(rate: EndpointRate(perSecond: -1, burst: 1)), "/rate/perSecond"),
    (EndpointLimits(rate: EndpointRate(perSecond: .nan, burst: 1)), "/rate/perSecond"),
    (EndpointLimits(rate: EndpointRate(perSecond: .infinity, burst: 1)), "/rate/perSecond"),
    (EndpointLimits(rate: EndpointRate(perSecond: 1, burst: 0)), "/rate/burst"),
    (EndpointLimits(concurrency: 0), "/concurrency"),
  ]

  /// Catches limits that are taken for something else than their maker meant.
  @Test("A limit that is none makes a level", arguments: malformedLimits)
  func malformed(limits: EndpointLimits, path: String) throws {
    let fault = try #require(faultOf(limits))
    #expect(fault.code == .invalidParams && fault.data["path"]?.stringValue == path)
  }

  static let excess: [(EndpointLimits, path: String)] = [
    (EndpointLimits(methods: ["fetchResource", "metrics"]), "/methods/1"),
    (EndpointLimits(methods: ["noSuchMethod"]), "/methods/0"),
    (EndpointLimits(resources: ["b"]), "/resources/0"),
    (EndpointLimits(resources: ["a", "c"]), "/resources/1"),
    (EndpointLimits(httpMethods: ["GET", "DELETE"]), "/httpMethods/1"),
    (EndpointLimits(paths: ["orders"]), "/paths/0"),
    (EndpointLimits(paths: ["orders/", "order/"]), "/paths/1"),
    (EndpointLimits(paths: ["items/1"]), "/paths/0"),
    (EndpointLimits(paths: ["items/"]), "/paths/0"),
    (EndpointLimits(sessions: ["two"]), "/sessions/0"),
  ]

  /// Catches a child that has what its maker has not.
  @Test("A level has more than the one above", arguments: excess)
  func tooMuch(limits: EndpointLimits, path: String) throws {
    let maker = try make(
      EndpointLimits(
        resources: ["a"], httpMethods: ["GET"], paths: ["orders/", "items"], sessions: ["one"]))
    let fault = try #require(faultOf(limits, under: maker))
    #expect(fault.code == .peerForbidden && fault.data["path"]?.stringValue == path)
    let list = path.split(separator: "/")[0]
    #expect(fault.message == "An entry of \(list) is unknown, or the maker may not use it")
  }

  /// Catches a rule of peers that an endpoint gets around, and an error that shows which hidden resources there are.
  @Test("A level has more than the rule of peers")
  func moreThanTheRule() {
    for limits in [EndpointLimits(methods: ["metrics"]), EndpointLimits(resources: ["hidden"])] {
      #expect(faultOf(limits)?.code == .peerForbidden)
    }
    #expect(faultOf(EndpointLimits(resources: ["a", "b"], methods: ["health"])) == nil)
    #expect(
      faultOf(EndpointLimits(resources: ["hidden"]))?.message == faultOf(EndpointLimits(resources: ["none"]))?.message)
  }

  static let spellings: [(prefix: String, path: String, isWithin: Bool)] = [
    ("orders/", "orders/", true), ("orders/", "orders/1", true), ("orders/", "orders/1/lines/", true),
    ("orders/", "orders", false), ("orders/", "orders2/1", false), ("orders/", "Orders/1", false),
    ("orders", "orders", true), ("orders", "orders/", false), ("orders", "orders/1", false),
    ("orders/", "orders//1", false), ("orders/", "orders/1//", false), ("orders/", "", false),
    ("orders/", "orders/a%2F..", false), ("orders/", "orders/%2E%2E/x", false), ("orders/", "orders/..%5Cx", false),
    ("orders/", "orders/..;/x", false), ("orders/", "orders/1;v=2", false), ("orders/", "orders/%252e%252e/x", false),
    ("caf%C3%A9/", "caf\u{E9}/1", true), ("caf\u{E9}/", "caf%c3%a9/1", true), ("cafe\u{301}/", "caf\u{E9}/1", false),
    ("a%21/", "a!/b", true), ("a%20b", "a%20b", true),
  ]

  /// Catches a path that is read in another way than the server reads it.
  @Test("A path is within a prefix, or not, against its segments", arguments: spellings)
  func path(prefix: String, path: String, isWithin: Bool) throws {
    let level = try make(EndpointLimits(paths: [prefix]))
    #expect(level.effective.allows(path: path) == isWithin)
    #expect(!level.effective.allows(path: nil))
  }

  /// Catches methods that get around a list because no rule has them.
  @Test("A method that gets around a list is there without being named at that level")
  func beyond() throws {
    let named = try make(EndpointLimits(methods: ["fetchResource", "getAccessToken"], paths: ["a/"]))
    #expect(named.allows(method: "getAccessToken"))
    // The level below has a list of its own, and does not name the method.
    #expect(try !make(EndpointLimits(resources: ["a"]), under: named).allows(method: "getAccessToken"))
    #expect(try make(EndpointLimits(sessions: ["one"]), under: named).allows(method: "getAccessToken"))
    let unnamed = try make(EndpointLimits(httpMethods: ["GET"]))
    #expect(!unnamed.allows(method: "getAccessToken"))
    #expect(faultOf(EndpointLimits(methods: ["getAccessToken"]), under: unnamed)?.code == .peerForbidden)
    let sessions = try make(EndpointLimits(methods: ["createSession", "getSession"], sessions: ["one"]))
    #expect(!sessions.allows(method: "createSession") && sessions.allows(method: "getSession"))
    #expect(try make(EndpointLimits(methods: [])).allows(method: "health") == false)
  }

  /// Catches a ninth level, and time that a child has beyond its maker's.
  @Test("A chain is too long, or lives on behind one that is over")
  func depthAndEnd() throws {
    var levels = [try make(EndpointLimits(), expiry: clock.monotonicNow + .seconds(10))]
    while levels.count < Narrowing.maxDepth {
      levels.append(
        try make(EndpointLimits(), under: levels[levels.count - 1], expiry: clock.monotonicNow + .seconds(60)))
    }
    let last = levels[levels.count - 1]
    #expect(last.depth == 8 && last.chain.count == 8)
    #expect(faultOf(EndpointLimits(), under: last)?.code == .invalidParams)
    #expect(!last.isOver(at: clock.monotonicNow))
    #expect(last.expiry == clock.monotonicNow + .seconds(10))
    levels[3].revoke()
    #expect(!levels[2].isOver(at: clock.monotonicNow) && levels[3].isOver(at: clock.monotonicNow))
    #expect(last.isOver(at: clock.monotonicNow))
    clock.advance(by: .seconds(10))
    #expect(levels[0].isOver(at: clock.monotonicNow))
    #expect(levels[1].covers(last) && levels[1].covers(levels[1]) && !last.covers(levels[1]) && !last.covers(nil))
  }

  /// Catches a child that uses up more than its maker left it, and one that uses up its maker's.
  @Test("Calls are counted at one level only")
  func limits() throws {
    let maker = try make(EndpointLimits(rate: EndpointRate(perSecond: 1, burst: 3), concurrency: 2))
    let child = try make(EndpointLimits(rate: EndpointRate(perSecond: 1, burst: 2), concurrency: 5), under: maker)
    let other = try make(EndpointLimits(), under: maker)
    func admits(_ level: Narrowing) -> Bool { (try? level.admit(at: clock.monotonicNow)) != nil }
    #expect(admits(child) && admits(child))
    #expect(child.wouldReject(at: clock.monotonicNow) && !admits(child), "its own rate")
    #expect(admits(other), "which has cost its maker nothing")
    #expect(!admits(other) && !admits(maker) && other.wouldReject(at: clock.monotonicNow))
    clock.advance(by: .seconds(1))
    #expect(admits(other))
    try child.begin(isBounded: true)
    try other.begin(isBounded: true)
    #expect(throws: Narrowing.Limit.concurrency(2)) { try child.begin(isBounded: true) }
    #expect(child.callsUnderWay == 1 && maker.callsUnderWay == 2, "a rejected call is counted nowhere")
    try child.begin(isBounded: false)
    #expect(maker.callsUnderWay == 3)
    for level in [child, child, other] { level.end() }
    #expect(child.callsUnderWay == 0 && maker.callsUnderWay == 0)
  }
}
