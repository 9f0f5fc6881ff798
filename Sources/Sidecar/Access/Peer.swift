/// Who is at the other end of a connection, as the kernel says (SO_PEERCRED).
public struct Peer: Sendable, Hashable {
  /// The user id.
  public let uid: UInt32
  /// The primary group id.
  public let gid: UInt32
  /// The supplementary group ids.
  public let groups: [UInt32]
  /// The process id; 0 when it lives in another PID namespace.
  public let pid: Int32

  /// A peer of those credentials.
  public init(uid: UInt32, gid: UInt32, groups: [UInt32] = [], pid: Int32 = 0) {
    self.uid = uid
    self.gid = gid
    self.groups = groups
    self.pid = pid
  }
}
