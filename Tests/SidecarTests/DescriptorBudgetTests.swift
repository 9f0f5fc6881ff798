import Testing

@testable import PosternObservability
@testable import Sidecar

@Suite("How descriptors are shared out")
struct DescriptorBudgetTests {
  @Test(
    "a limit below the minimum is accepted, or leaves no descriptors for connections",
    arguments: [(223, nil), (224, 16), (234, 16), (235, 17)])
  func least(free: Int, connections: Int?) {
    #expect(DescriptorBudget.least == 224)
    #expect(DescriptorBudget(limit: free + 30, open: 30)?.connections == connections)
  }

  /// With a limit, what upstreams have: connections, those of the common transport, and those of the only resource with
  /// HTTP/2.
  static let shares: [(Int, [Int])] = [
    // 48 descriptors: the least. 16 are for certificates, three for each request.
    (224, [10, 7, 1]),
    (1024, [80, 60, 19]),
    // 1,043: the most.
    (65_536, [342, 256, 64]),
  ]

  @Test("upstreams have a quarter of all, within bounds, and three descriptors for each request", arguments: shares)
  func upstream(free: Int, expected: [Int]) throws {
    let budget = try #require(DescriptorBudget(limit: free, open: 0))
    #expect([budget.upstreamConnections, budget.commonConnections, budget.connections(ofOneIn: 1)] == expected)
  }

  @Test("everything together takes more than there is", arguments: 224...3000)
  func sum(free: Int) throws {
    let budget = try #require(DescriptorBudget(limit: free, open: 0))
    // The process's own descriptors, rejected connections, and certificates.
    #expect(budget.connections + 96 + 64 + 16 + budget.upstreamConnections * 3 <= free)
    #expect(budget.commonConnections + budget.upstreamConnections / 4 <= budget.upstreamConnections)
  }

  @Test("several resources with HTTP/2 exhaust the descriptors together", arguments: 1...12)
  func resources(count: Int) throws {
    let budget = try #require(DescriptorBudget(limit: 1024, open: 0))
    let each = budget.connections(ofOneIn: count)
    #expect(each >= 1)
    // For each transport the pair by which it is woken, for each request three.
    #expect(count * (2 + each * 3) <= (budget.upstreamConnections - budget.commonConnections) * 3)
  }

  /// Descriptors, and what connections, of which 1,024 are wanted, endpoints and passed descriptors have of them.
  static let divisions: [(Int, [Int])] = [
    (16, [11, 1, 4]), (163, [126, 17, 20]), (601, [461, 65, 75]), (1024, [784, 112, 128]), (2048, [1024, 768, 256]),
    (100_000, [1024, 8192, 1024]),
  ]

  @Test(
    "sockets of endpoints, or passed descriptors, take connections that are wanted, or have none", arguments: divisions)
  func endpoints(free: Int, expected: [Int]) {
    let shares = DescriptorBudget.shares(of: free, wanted: 1024, hasGateway: false)
    #expect([shares.connections, shares.endpoints, shares.passed] == expected)
    #expect(shares.gateway == 0)
  }

  /// Descriptors, and what connections of the gateway and of the socket have of them.
  static let listeners: [(Int, [Int])] = [
    (16, [8, 6]), (24, [12, 8]), (64, [16, 32]), (217, [54, 126]), (2048, [1024, 784]), (100_000, [1024, 1024]),
  ]

  @Test("one listener takes the connections of the other", arguments: listeners)
  func gateway(free: Int, expected: [Int]) {
    let shares = DescriptorBudget.shares(of: free, wanted: 1024, hasGateway: true)
    #expect([shares.gateway, shares.connections] == expected)
  }

  @Test("shares of callers are more than there is, or one of them is none", arguments: [false, true])
  func parts(hasGateway: Bool) {
    for free in 16...4000 {
      let shares = DescriptorBudget.shares(of: free, wanted: 1024, hasGateway: hasGateway)
      #expect(shares.connections + shares.gateway + shares.endpoints + shares.passed <= free, "\(free)")
      #expect(shares.connections > 0 && shares.passed > 0 && (shares.gateway > 0) == hasGateway, "\(free)")
    }
  }

  @Test(
    "where there are few connections to servers, one server has all of them",
    arguments: [(224, 7, 6), (512, 27, 16), (1024, 60, 16), (4096, 252, 63), (65_536, 256, 64)])
  func hosts(free: Int, total: Int, perHost: Int) throws {
    let budget = try #require(DescriptorBudget(limit: free, open: 0))
    #expect(budget.commonConnections(wanted: 256) == total)
    #expect(budget.connectionsPerHost(64, of: 256) == perHost)
  }

  @Test("a resource has no connection where very many have HTTP/2")
  func many() throws {
    let budget = try #require(DescriptorBudget(limit: 224, open: 0))
    #expect(budget.connections(ofOneIn: 50) == 1)
  }
}
