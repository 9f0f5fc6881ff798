import Glibc
import PosternSupport

/// Why the server could not listen. The descriptions are for the person who starts it.
public enum SocketServerError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The path is empty or has a NUL in it.
  case pathUnusable
  /// The path has `length` bytes; `sun_path` holds 107 and a NUL.
  case pathTooLong(path: String, length: Int)
  /// The directory of the path does not exist.
  case directoryMissing(path: String, directory: String)
  /// There is a file at the path that is not a socket; it is never removed.
  case pathOccupied(path: String, kind: String)
  /// A running process listens on the path.
  case alreadyInUse(path: String)
  /// Another start on the same directory did not finish in time.
  case directoryLocked(directory: String)
  /// The socket could not be given to the group.
  case groupRejected(path: String, group: UInt32, errno: CInt)
  /// The descriptor from systemd is not a listening Unix stream socket, or the variables are malformed.
  case activationUnusable(reason: String)
  /// A system call failed.
  case system(call: String, errno: CInt)
  /// The event loops failed; the text is theirs.
  case eventLoop(reason: String)

  /// A description of the error and, where it helps, of the remedy.
  public var description: String {
    switch self {
    case .pathUnusable:
      "the socket path is empty or contains a NUL"
    case .pathTooLong(let path, let length):
      "the socket path \(path) has \(length) bytes; Linux allows 107"
    case .directoryMissing(let path, let directory):
      "cannot listen on \(path): there is no directory \(directory). listen.directoryMode has it made; so does, as root, "
        + "install -d -m 0750 -o USER -g GROUP \(directory), and RuntimeDirectory= in a systemd unit"
    case .pathOccupied(let path, let kind):
      "cannot listen on \(path): \(kind) is there, and only a stale socket is ever replaced"
    case .alreadyInUse(let path):
      "cannot listen on \(path): the socket is already in use by a running process"
    case .directoryLocked(let directory):
      "cannot listen in \(directory): another process of this user is starting or ending there, and does not get done"
    case .groupRejected(let path, let group, let errno):
      "cannot give \(path) to group \(group): \(SystemError.text(errno)); the process must be a member of it, or root"
    case .activationUnusable(let reason):
      "socket activation: \(reason)"
    case .system(let call, let errno):
      "\(call): \(SystemError.text(errno))"
    case .eventLoop(let reason):
      "event loop: \(reason)"
    }
  }
}
