import Glibc

/// Identifies a peer's connection, for which work is done: the peer's uid and the connection's number. Not an OAuth
/// client identifier. What several peers share is divided by uid first, and by connection among those of one uid.
public struct PeerID: Sendable, Hashable {
  /// The uid.
  public let uid: UInt32
  /// The number of the connection, unique in this process.
  public let connection: UInt64

  /// An identifier of the given parts.
  public init(uid: UInt32, connection: UInt64) {
    self.uid = uid
    self.connection = connection
  }

  /// The process itself: what it does for all users, or of its own accord.
  public static let process = PeerID(uid: .max, connection: 0)

  /// The real uid of the process: what belongs to a uid belongs to it, where a Swift program names none.
  public static var ownUID: UInt32 { getuid() }
}

extension PeerID: ConciseStringConvertible {
  /// Uid and connection.
  public var description: String { self == .process ? "this process" : "uid \(uid), connection \(connection)" }
}
