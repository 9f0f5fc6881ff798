/// The process at the other end of a connection, as the kernel reports it (SO_PEERCRED).
package struct Peer: Sendable, Hashable {
  /// The user id.
  package let uid: UInt32
  /// The primary group id.
  package let gid: UInt32
  /// The supplementary group ids.
  package let groups: [UInt32]
  /// The process id; 0 when it lives in another PID namespace.
  package let pid: Int32

  /// A peer of those credentials.
  package init(uid: UInt32, gid: UInt32, groups: [UInt32] = [], pid: Int32 = 0) {
    self.uid = uid
    self.gid = gid
    self.groups = groups
    self.pid = pid
  }
}
