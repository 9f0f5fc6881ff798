/// How many connections are open, in total and by uid; decides who may come in.
struct AdmissionLedger: Sendable {
  /// What happens to a new connection.
  enum Decision: Hashable {
    case admitted(id: UInt64)
    /// Turned away; `lingers` is false when too many refusals already wait for their peers to read.
    case refused(RefusalReason, lingers: Bool)
  }

  /// Refusals that may linger at once, so that turning away costs a bounded number of descriptors.
  static let lingeringRefusals = 64

  private let connections: Int
  private let connectionsPerUid: Int
  private var nextID: UInt64 = 1
  private var byUid: [UInt32: Int] = [:]
  private var lingering = 0

  /// Open connections.
  private(set) var total = 0

  init(connections: Int, connectionsPerUid: Int) {
    self.connections = connections
    self.connectionsPerUid = connectionsPerUid
  }

  /// Counts a new connection of `uid`, or turns it away.
  mutating func admit(uid: UInt32) -> Decision {
    let reason: RefusalReason
    if total >= connections {
      reason = .connections(limit: connections)
    } else if byUid[uid, default: 0] >= connectionsPerUid {
      reason = .connectionsPerUid(limit: connectionsPerUid)
    } else {
      total += 1
      byUid[uid, default: 0] += 1
      defer { nextID += 1 }
      return .admitted(id: nextID)
    }
    let lingers = lingering < Self.lingeringRefusals
    if lingers { lingering += 1 }
    return .refused(reason, lingers: lingers)
  }

  /// An admitted connection of `uid` is over.
  mutating func release(uid: UInt32) {
    total -= 1
    guard let count = byUid[uid] else { return }
    byUid[uid] = count > 1 ? count - 1 : nil
  }

  /// A lingering refusal is over.
  mutating func releaseRefusal() { lingering -= 1 }
}
