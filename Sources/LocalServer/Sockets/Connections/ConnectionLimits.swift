import PosternSupport

/// Counts open connections, in total and by uid, and decides whether another one is accepted.
///
/// While other uids have connections, a uid gets at most three times what is free (`FairShare`). Strangers, whose calls
/// are all rejected, get few in any case. Not a `ConcurrencyLimiter`: a connection is accepted or rejected at once.
package struct ConnectionLimits: Sendable {
  /// The decision about a new connection.
  package enum Decision: Hashable {
    case admitted(id: UInt64)
    /// Rejected; `lingers` is false when too many rejections already wait for their peers to read.
    case rejected(RejectionReason, lingers: Bool)
  }

  /// Rejections of one listener that may linger at once, so that they cost a bounded number of descriptors.
  package static let lingeringRejections = 24
  /// Connections that have given their place to others and may not be closed yet; twice as many at most.
  package static let leavingConnections = 16
  /// Connections of one endpoint: many programs keep some open.
  package static let connectionsPerEndpoint = 32
  /// Connections of one stranger.
  static let connectionsPerStranger = 16
  /// All strangers together have one in so many connections.
  static let strangersPart = 4

  private let connections: Int
  private let connectionsPerUid: Int
  private var nextID: UInt64 = 1
  private var byUid: [UInt32: Int] = [:]
  private var strangers: [UInt32: Int] = [:]
  private var strangersTotal = 0
  private var lingering = 0
  private var leaving = 0

  /// Open connections.
  private(set) var total = 0

  /// The limits of one listener.
  package init(connections: Int, connectionsPerUid: Int) {
    self.connections = connections
    self.connectionsPerUid = connectionsPerUid
  }

  /// Counts a new connection of `uid`, or rejects it. `isFull`: the uid has passed all the descriptors that it may;
  /// `endpointCount`: how many connections its endpoint has, where it is at one.
  package mutating func admit(
    uid: UInt32, isStranger: Bool = false, isFull: Bool = false, endpointCount: Int? = nil
  ) -> Decision {
    if let reason = isFull
      ? .connectionsPerUid(limit: connectionsPerUid)
      : rejection(of: uid, atEndpointWith: endpointCount) ?? rejection(of: uid, isStranger: isStranger)
    {
      let lingers = lingering < Self.lingeringRejections
      if lingers { lingering += 1 }
      return .rejected(reason, lingers: lingers)
    }
    total += 1
    byUid[uid, default: 0] += 1
    if isStranger {
      strangersTotal += 1
      strangers[uid, default: 0] += 1
    }
    return .admitted(id: newID())
  }

  /// Whether another connection of `uid`, which is no stranger and at no endpoint, would be admitted.
  package func admits(uid: UInt32) -> Bool { rejection(of: uid, isStranger: false) == nil }

  /// Whether so many have given their places and are not closed yet that the next one should be one that is closed at
  /// once.
  package var manyLeave: Bool { leaving >= Self.leavingConnections }

  /// Gives the place of an admitted connection, which is to be closed, to a new one of its uid, whose number it returns.
  /// `releaseReplaced` must follow. Nil while too many of those are still there.
  package mutating func replace() -> UInt64? {
    guard leaving < 2 * Self.leavingConnections else { return nil }
    leaving += 1
    return newID()
  }

  /// A connection that gave its place is closed.
  package mutating func releaseReplaced() { leaving -= 1 }

  /// A number for a connection that is counted elsewhere.
  package mutating func newID() -> UInt64 {
    defer { nextID += 1 }
    return nextID
  }

  /// Endpoints leave the uid's main socket some connections, and each of them the others some.
  private func rejection(of uid: UInt32, atEndpointWith count: Int?) -> RejectionReason? {
    guard let count else { return nil }
    let mostAtEndpoints = max(1, connectionsPerUid * 3 / 4)
    let mostOfOne = min(Self.connectionsPerEndpoint, max(1, mostAtEndpoints / 2))
    if count >= mostOfOne { return .connectionsPerEndpoint(limit: mostOfOne) }
    return byUid[uid, default: 0] >= mostAtEndpoints ? .connectionsPerEndpoint(limit: mostAtEndpoints) : nil
  }

  private func rejection(of uid: UInt32, isStranger: Bool) -> RejectionReason? {
    let own = byUid[uid, default: 0]
    guard total < connections else { return .connections(limit: connections) }
    guard own < connectionsPerUid else { return .connectionsPerUid(limit: connectionsPerUid) }
    if isStranger {
      let all = max(1, connections / Self.strangersPart)
      let most = min(Self.connectionsPerStranger, connectionsPerUid, max(1, all / 2))
      guard strangers[uid, default: 0] < most else { return .connectionsPerUid(limit: most) }
      guard strangersTotal < all else { return .connections(limit: connections) }
    }
    // Who is alone may have all that is configured.
    guard own == total || FairShare.allows(own, free: connections - total) else {
      return .connections(limit: connections)
    }
    return nil
  }

  /// An admitted connection of `uid` is over.
  package mutating func release(uid: UInt32, isStranger: Bool = false) {
    total -= 1
    byUid.countDown(uid)
    guard isStranger else { return }
    strangersTotal -= 1
    strangers.countDown(uid)
  }

  /// Whether a connection of `uid` is open.
  func hasConnections(of uid: UInt32) -> Bool { byUid[uid] != nil }

  /// A lingering rejection is over.
  package mutating func releaseRejection() { lingering -= 1 }
}

/// Why a connection was rejected right after it was accepted.
public enum RejectionReason: Sendable, Hashable {
  /// The server's limit of connections is reached.
  case connections(limit: Int)
  /// The limit of connections of one uid is reached.
  case connectionsPerUid(limit: Int)
  /// The limit of connections of one endpoint is reached.
  case connectionsPerEndpoint(limit: Int)
  /// The endpoint is for another process. Such a connection gets no answer.
  case otherProcess
}
