/// How the descriptors of this process are shared out: connections get what is left when some are kept for everything
/// else, so that callers who stay connected cannot keep upstream requests and files from being opened.
package struct DescriptorBudget: Sendable {
  /// For event loops, the store, the audit log, files that are read again, and the status server's 64 connections.
  private static let own = 96
  /// For connections that are rejected with an answer.
  private static let rejections = 64
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

  /// Divides descriptors between connections, of which `wanted` are enough, and sockets of endpoints: these have what
  /// is left, and an eighth in any case.
  package static func shares(of descriptors: Int, wanted: Int) -> (connections: Int, endpoints: Int) {
    let endpoints = min(mostOfEndpoints, max(descriptors - wanted, descriptors / 8))
    return (min(wanted, descriptors - endpoints), endpoints)
  }

  /// How many connections the common transport may have: three in four.
  package var commonConnections: Int { max(1, upstreamConnections * 3 / 4) }

  /// How many connections the transport of a resource with HTTP/2 may have, where so many resources have one: they
  /// share the fourth that the common one leaves. One at least, so that very many take more than that.
  package func connections(ofOneIn count: Int) -> Int {
    let count = max(1, count)
    let forAll = upstreamConnections / 4 * Self.perRequest - count * Self.perTransport
    return min(Self.mostOfResource, max(1, forAll / (count * Self.perRequest)))
  }
}
