import CPosternLinux
import Glibc

/// A peer's process, held by a descriptor (SO_PEERPIDFD, Linux 6.5): unlike a process id it never comes to mean another
/// process, and it works where the peer's PID namespace cannot be seen.
public final class PeerProcess: Sendable {
  /// What the kernel says about the process behind a connection.
  public enum Observation: Sendable {
    /// It can be watched.
    case observable(PeerProcess)
    /// It has ended already.
    case exited
    /// The kernel is older than Linux 6.5, or the connection is closed.
    case unsupported
  }

  /// The process descriptor; readable (`POLLIN`) once the process has ended. Owned by this object.
  public let descriptor: CInt

  private init(owning descriptor: CInt) { self.descriptor = descriptor }

  deinit { close(descriptor) }

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
