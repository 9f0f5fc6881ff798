import CPosternLinux
import Glibc

/// The credentials of a peer, as the kernel recorded them when it called `connect()`: they cannot be forged, and do not
/// change when the peer changes its ids or passes the descriptor on.
public struct PeerCredentials: Sendable, Hashable {
  /// The effective user id.
  public let uid: UInt32
  /// The effective group id.
  public let gid: UInt32
  /// The process id; nil when the peer's PID namespace cannot be seen from here (two containers of one pod). A number
  /// for logs only: the process may be gone and its number used again.
  public let pid: Int32?
  /// The supplementary group ids.
  public let groups: [UInt32]

  /// Credentials made by hand.
  public init(uid: UInt32, gid: UInt32, pid: Int32?, groups: [UInt32]) {
    self.uid = uid
    self.gid = gid
    self.pid = pid
    self.groups = groups
  }

  /// Reads the credentials of the peer of a connected Unix socket from the kernel.
  package init(socket descriptor: CInt) throws(SocketServerError) {
    var (uid, gid, pid): (UInt32, UInt32, Int32) = (0, 0, 0)
    let failed = clinux_peer_credentials(descriptor, &uid, &gid, &pid)
    guard failed == 0 else { throw .system(call: "getsockopt(SO_PEERCRED)", errno: failed) }
    self.init(uid: uid, gid: gid, pid: pid > 0 ? pid : nil, groups: try Self.groups(of: descriptor))
  }

  private static func groups(of descriptor: CInt) throws(SocketServerError) -> [UInt32] {
    var capacity = 32
    while true {
      var count = 0
      var failed: CInt = 0
      let groups = [UInt32](unsafeUninitializedCapacity: capacity) { buffer, initialized in
        failed = clinux_peer_groups(descriptor, buffer.baseAddress, capacity, &count)
        initialized = failed == 0 ? min(count, capacity) : 0
      }
      // The answer cannot change: the kernel keeps the credentials of connect(). One retry is enough, but a kernel that
      // answers ERANGE without a larger number must not keep us here.
      guard failed == ERANGE, count > capacity else {
        guard failed == 0 else { throw .system(call: "getsockopt(SO_PEERGROUPS)", errno: failed) }
        return groups
      }
      capacity = count
    }
  }
}

/// A peer's process, identified by a descriptor (SO_PEERPIDFD, Linux 6.5): unlike a process id it never comes to mean
/// another process, and it works where the peer's PID namespace cannot be seen.
public final class PeerProcess: Sendable {
  /// The state of the process of a connection.
  public enum Observation: Sendable {
    /// It can be watched.
    case observable(PeerProcess)
    /// It has exited already.
    case exited
    /// The kernel is older than Linux 6.5, or the connection is closed.
    case unsupported
  }

  /// The process descriptor; readable (`POLLIN`) once the process has exited. Owned by this object.
  public let descriptor: CInt

  private init(owning descriptor: CInt) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// The process of that number; nil when there is none, or it has ended.
  package convenience init?(_ number: Int32) {
    let descriptor = clinux_process_open(number)
    guard descriptor >= 0 else { return nil }
    self.init(owning: descriptor)
    if !isAlive { return nil }
  }

  /// The effective user of the process, whose number is `number`; nil where the system does not show it.
  package func user(_ number: Int32) -> UInt32? { UInt32(exactly: clinux_process_user(descriptor, number)) }

  /// Whether the process still runs.
  public var isAlive: Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, 0) == 0
  }

  static func observe(socket: CInt) -> Observation {
    let descriptor = clinux_peer_pidfd(socket)
    guard descriptor < 0 else { return .observable(PeerProcess(owning: descriptor)) }
    // Before Linux 6.16 a process that was reaped has no descriptor: ESRCH, or EINVAL in the first versions.
    return descriptor == -ESRCH || descriptor == -EINVAL ? .exited : .unsupported
  }
}
