import PosternSupport

/// How the descriptors of this process are shared out: connections get what is left when some are kept for everything
/// else, so that callers who stay connected cannot keep upstream requests and files from being opened.
package struct DescriptorBudget: Sendable {
  /// For event loops, the store, the audit log, files that are read again, and the status server's 64 connections.
  private static let own = 96
  /// For connections that are rejected with an answer, or have to go, on both listeners.
  package static let rejections = 64
  /// For requests to other servers and the files they need: a quarter of all, within these bounds.
  private static let upstream = 48...1043
  /// The part of these for certificates and keys that are read while a connection is opened.
  private static let trustFiles = 16
  /// The most descriptors of one request: while its host's name is resolved, a socket and the pair by which libcurl's
  /// resolver reports.
  private static let perRequest = 3
  /// The descriptors of a transport without connections: the pair that wakes it.
  private static let perTransport = 2
  /// Connections of a resource's own transport at most: fetches of one resource, each on a connection of its own.
  private static let mostOfResource = 64
  /// Two sockets of each of 4,096 endpoints.
  private static let mostOfEndpoints = 8192
  /// Descriptors that callers have passed: those of four users.
  private static let mostPassed = 1024
  /// What the gateway's connections, and passed descriptors, have at least, where others have as many.
  private static let leastShare = 16
  /// The smallest useful number of connections.
  private static let leastConnections = 16

  /// The least number of descriptors, in addition to those that are open at the start.
  package static let least = own + rejections + upstream.lowerBound + leastConnections

  /// The limit of open files.
  package let limit: Int
  /// How many connections callers may have.
  package let connections: Int
  /// How many connections to other servers there may be: libcurl and the system's thread pool, which aborts without a
  /// descriptor, must always get one.
  let upstreamConnections: Int

  /// Shares out `limit` descriptors, of which `open` are in use; nil when they are too few.
  package init?(limit: Int, open: Int) {
    let free = limit - open
    guard free >= Self.least else { return nil }
    let quarter = min(max(free / 4, Self.upstream.lowerBound), Self.upstream.upperBound)
    // Callers have their least before it grows.
    let upstream = min(quarter, free - Self.own - Self.rejections - Self.leastConnections)
    self.limit = limit
    connections = free - Self.own - Self.rejections - upstream
    upstreamConnections = (upstream - Self.trustFiles) / Self.perRequest
  }

  /// What callers have of the descriptors.
  package struct Shares: Sendable, Hashable {
    /// Connections of the socket.
    package let connections: Int
    /// Connections of the gateway.
    package let gateway: Int
    /// Sockets of endpoints.
    package let endpoints: Int
    /// Descriptors that callers have passed.
    package let passed: Int
  }

  /// Divides `descriptors` between the connections of each listener, of which `wanted` are enough, and the rest. The
  /// gateway has as many connections as the socket where there are enough for both, else a quarter; passed descriptors
  /// have an eighth of what that leaves, and sockets of endpoints the rest, an eighth in any case.
  package static func shares(of descriptors: Int, wanted: Int, hasGateway: Bool) -> Shares {
    let quarter = max(min(leastShare, descriptors / 2), descriptors / 4)
    let gateway = hasGateway ? min(wanted, descriptors >= 2 * wanted ? wanted : quarter) : 0
    var left = descriptors - gateway
    let passed = min(mostPassed, max(min(leastShare, left / 4), left / 8))
    left -= passed
    let endpoints = min(mostOfEndpoints, max(left - wanted, left / 8))
    return Shares(
      connections: min(wanted, left - endpoints), gateway: gateway, endpoints: endpoints, passed: passed)
  }

  /// How many connections the common transport may have, of which `wanted` are enough: three in four.
  package func commonConnections(wanted: Int) -> Int { min(wanted, commonConnections) }

  /// How many of them one server may have, where it is `wanted` of so many: no server takes those of all others.
  package func connectionsPerHost(_ wanted: Int, of total: Int) -> Int {
    FairShare.scaled(wanted, of: total, to: commonConnections(wanted: total))
  }

  /// The common transport's part of the connections to other servers.
  var commonConnections: Int { max(1, upstreamConnections * 3 / 4) }

  /// How many connections the transport of a resource with HTTP/2 may have, where so many resources have one: they
  /// share the fourth that the common one leaves. One at least, so that very many take more than that.
  package func connections(ofOneIn count: Int) -> Int {
    let count = max(1, count)
    let forAll = upstreamConnections / 4 * Self.perRequest - count * Self.perTransport
    return min(Self.mostOfResource, max(1, forAll / (count * Self.perRequest)))
  }
}
