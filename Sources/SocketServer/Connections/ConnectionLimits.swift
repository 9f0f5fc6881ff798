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

  /// Rejections that may linger at once, so that they cost a bounded number of descriptors.
  static let lingeringRejections = 64
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

  /// Open connections.
  private(set) var total = 0

  /// The limits of one listener.
  package init(connections: Int, connectionsPerUid: Int) {
    self.connections = connections
    self.connectionsPerUid = connectionsPerUid
  }

  /// Counts a new connection of `uid`, or rejects it. `isFull`: the uid has passed all the descriptors that it may;
  /// `endpointLimit`: its endpoint has as many connections as it may.
  package mutating func admit(
    uid: UInt32, isStranger: Bool = false, isFull: Bool = false, isAtEndpoint: Bool = false, endpointLimit: Int? = nil
  ) -> Decision {
    // The main socket always has some left for the uid.
    let mostAtEndpoints = max(1, connectionsPerUid * 3 / 4)
    let endpointLimit =
      endpointLimit ?? (isAtEndpoint && byUid[uid, default: 0] >= mostAtEndpoints ? mostAtEndpoints : nil)
    if let reason = isFull
      ? .connectionsPerUid(limit: connectionsPerUid)
      : endpointLimit.map(RejectionReason.connectionsPerEndpoint) ?? rejection(of: uid, isStranger: isStranger)
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
    defer { nextID += 1 }
    return .admitted(id: nextID)
  }

  private func rejection(of uid: UInt32, isStranger: Bool) -> RejectionReason? {
    let own = byUid[uid, default: 0]
    guard total < connections else { return .connections(limit: connections) }
    guard own < connectionsPerUid else { return .connectionsPerUid(limit: connectionsPerUid) }
    if isStranger {
      let most = min(Self.connectionsPerStranger, connectionsPerUid)
      guard strangers[uid, default: 0] < most else { return .connectionsPerUid(limit: most) }
      guard strangersTotal < max(1, connections / Self.strangersPart) else { return .connections(limit: connections) }
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
    Self.countDown(&byUid, uid)
    guard isStranger else { return }
    strangersTotal -= 1
    Self.countDown(&strangers, uid)
  }

  private static func countDown(_ counts: inout [UInt32: Int], _ uid: UInt32) {
    guard let count = counts[uid] else { return }
    counts[uid] = count > 1 ? count - 1 : nil
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
