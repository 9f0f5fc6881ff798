/// For whom work is done, where several share what does it: a uid, and one of its connections.
public struct Requester: Sendable, Hashable {
  /// The uid.
  public let uid: UInt32
  /// The connection.
  public let connection: UInt64

  /// The requester of those parts.
  public init(uid: UInt32, connection: UInt64) {
    self.uid = uid
    self.connection = connection
  }

  /// The process itself: what it does for nobody in particular.
  public static let process = Requester(uid: .max, connection: 0)
}
