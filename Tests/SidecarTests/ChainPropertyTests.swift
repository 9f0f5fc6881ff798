import AuthEngine
import HTTPMessages
import Logging
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport
import PosternTestSupport
import Testing

@testable import PosternObservability
@testable import Sidecar

/// Random chains against `ChainModel`, through the calls of JSON-RPC connections and of programs that speak HTTP.
@Suite("Random chains of endpoints", .timeLimit(.minutes(5)))
struct ChainPropertyTests {
  private static let yaml = """
    peers:
      - { uid: 7, methods: ["*"] }
      - { uid: 8, methods: [fetchResource, getSession, createSession, getAccessToken], resources: [a, b] }
    resources:
      a: { baseUrl: "https://a.test/v1/", auth: none, additionalOrigins: ["https://more.test"] }
      b: { baseUrl: "https://b.test", auth: none }
      c: { baseUrl: "https://c.test/", auth: none }
    """
  fileprivate static let methods = [
    "fetchResource", "getAccessToken", "createSession", "beginAuthorization", "authenticate", "getSession", "health",
    "validateLogoutToken", "invalidateDecisions", "reloadConfig", "pass.authorize", "listTasks",
  ]
  fileprivate static let resources = ["a", "b", "c"]
  fileprivate static let httpMethods = ["GET", "POST", "DELETE"]
  fileprivate static let paths = ["orders", "orders/", "orders/1", "orders/1/", "items/", "caf%C3%A9/"]
  fileprivate static let sessions = ["one", "two"]
  /// Paths of fetches as they are given, and what they mean; nil: nothing that a list can have.
  private static let fetched: [(given: String, meant: String?)] = [
    ("orders", "orders"), ("/orders", "orders"), ("orders/", "orders/"), ("orders/1", "orders/1"),
    ("%6Frders/1?x=1", "orders/1"), ("orders/1/2", "orders/1/2"), ("orders/../items/3", "items/3"),
    ("orders/./1", "orders/1"), ("orders%2F1", nil), ("orders//1", nil), ("orders/1;x=2", nil), ("", nil), ("/", nil),
    ("caf%c3%a9/1", "caf%C3%A9/1"), ("items", "items"), ("items/orders/1", "items/orders/1"),
    ("orders2/1", "orders2/1"),
  ]

  private final class Program: ForwardingProgram {
    func fields(for server: ResourceServer) -> HTTPFields { [:] }
    func take(_ response: ResourceResponse, from server: ResourceServer) {}
    func content(for server: ResourceServer) async throws(RPCFault) -> ForwardedFetch.Content {
      ForwardedFetch.Content(fields: [:])
    }
    func begin(_ head: HTTPResponseHead, from server: ResourceServer) async -> Bool { true }
    func deliver(_ piece: [UInt8]) async -> Bool { true }
  }

  private struct Chain {
    var model: ChainModel
    var level: Narrowing?
  }

  private func isWithin(_ limits: EndpointLimits, _ model: ChainModel) -> Bool {
    (limits.methods ?? []).allSatisfy(model.allows(method:))
      && (limits.resources ?? []).allSatisfy(model.allows(resource:))
      && (limits.httpMethods ?? []).allSatisfy(model.allows(httpMethod:))
      && (limits.paths ?? []).allSatisfy { model.allows(path: $0) }
      && (limits.sessions ?? []).allSatisfy(model.allows(session:))
  }

  /// A chain of random length; a level that is more than the one above is not made, as the model has it.
  private func chain(_ rule: AccessRules.Rule, _ random: inout SeededGenerator, _ now: MonotonicInstant) -> Chain {
    var chain = Chain(
      model: ChainModel(ruleMethods: rule.methods, ruleResources: rule.scope.resources, levels: []), level: nil)
    for depth in 0..<Int.random(in: 1...8, using: &random) {
      let limits = random.limits(under: chain.model)
      let level = try? Narrowing.make(limits, id: "\(depth)", under: chain.level, rule: rule, at: now)
      #expect((level != nil) == isWithin(limits, chain.model), "\(limits) under \(chain.model.levels)")
      guard let level else { continue }
      let below = ChainModel(
        ruleMethods: rule.methods, ruleResources: rule.scope.resources, levels: chain.model.levels + [limits])
      let gained = Self.methods.filter { below.allows(method: $0) && !chain.model.allows(method: $0) }
      #expect(gained.isEmpty, "a child reaches what its maker cannot")
      chain = Chain(model: below, level: level)
    }
    return chain
  }

  /// Catches a level, a list or a front that is left out, and every way in which a child reaches what its maker cannot:
  /// 10,000 chains, of which each makes calls through both fronts.
  @Test(
    "A call through a chain is carried out that the model rejects, or the other way round", arguments: [1, 2, 3, 4])
  func calls(seed: Int) async throws {
    let bench = try SidecarBench(Self.yaml, level: .critical)
    var random = SeededGenerator(seed: UInt64(seed))
    let access = bench.service.snapshot.access
    for number in 0..<2500 {
      let peer = Peer(uid: number.isMultiple(of: 2) ? 7 : 8, gid: 0)
      let rule = try #require(access.rule(for: peer))
      let chain = chain(rule, &random, bench.clock.monotonicNow)
      let caller = PeerConnection(
        connection: UInt64(number), peer: peer, openedAt: bench.clock.monotonicNow, narrowing: chain.level)
      let calls = CallChain(caller: caller, environment: bench.service.calls)
      let (allowed, usable) = (
        Self.methods.filter { !calls.rejects(method: $0) },
        Self.sessions.filter { chain.level?.effective.allows(session: $0) ?? true }
      )
      #expect(allowed == Self.methods.filter(chain.model.allows(method:)), "through \(chain.model.levels)")
      #expect(usable == Self.sessions.filter(chain.model.allows(session:)), "through \(chain.model.levels)")
      try await fetch(chain, calls, caller, bench, &random)
    }
  }

  private func fetch(
    _ chain: Chain, _ calls: CallChain, _ caller: PeerConnection, _ bench: SidecarBench, _ random: inout SeededGenerator
  ) async throws {
    let resource = try #require(Self.resources.randomElement(using: &random))
    let method = try #require(Self.httpMethods.randomElement(using: &random))
    let path = try #require(Self.fetched.randomElement(using: &random))
    let isAllowed = chain.model.allowsFetch(resource, method, path.meant)
    let expected: ErrorCode? =
      isAllowed ? nil : chain.model.allows(method: "fetchResource") ? .invalidParams : .peerForbidden
    let params: JSONTree = ["resource": .string(resource), "method": .string(method), "path": .string(path.given)]
    let before = bench.transport.requests.count
    let result = await calls.dispatch(Call(key: 1, id: nil, method: "fetchResource", params: params)).outcome()
    #expect(Self.code(of: result) == expected, "\(params) through \(chain.model.levels)")
    // A program's path is what is behind the base URL, with a slash.
    let given = path.given.isEmpty || path.given.hasPrefix("/") ? path.given : "/\(path.given)"
    let forwarded = await bench.service.begin(
      ForwardedFetch(resource: resource, path: given, method: method), for: Program(), by: caller
    ).outcome()
    #expect(Self.code(of: forwarded) == expected, "forwarded \(params) through \(chain.model.levels)")
    #expect(bench.transport.requests.count - before == (isAllowed ? 2 : 0))
  }

  private static func code<Value>(of result: Result<Value, RPCFault>) -> ErrorCode? {
    guard case .failure(let fault) = result else { return nil }
    return fault.code
  }
}

extension SeededGenerator {
  /// No list, or some of `all`, mostly of those that `isAllowed`.
  fileprivate mutating func list(of all: [String], where isAllowed: (String) -> Bool) -> [String]? {
    guard Int.random(in: 0..<3, using: &self) == 0 else { return nil }
    let isHonest = Int.random(in: 0..<8, using: &self) > 0
    return all.filter { (!isHonest || isAllowed($0)) && Int.random(in: 0..<4, using: &self) > 0 }
  }

  fileprivate mutating func limits(under model: ChainModel) -> EndpointLimits {
    EndpointLimits(
      resources: list(of: ChainPropertyTests.resources, where: model.allows(resource:)),
      methods: list(of: ChainPropertyTests.methods, where: model.allows(method:)),
      httpMethods: list(of: ChainPropertyTests.httpMethods, where: model.allows(httpMethod:)),
      paths: list(of: ChainPropertyTests.paths, where: { model.allows(path: $0) }),
      sessions: list(of: ChainPropertyTests.sessions, where: model.allows(session:)))
  }
}
