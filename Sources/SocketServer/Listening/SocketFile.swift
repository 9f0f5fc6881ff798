import Glibc

/// A socket file this process has made, known by its inode.
struct SocketFile: Sendable {
  let address: UnixAddress
  private let lock: SocketLock
  private let device: dev_t
  private let inode: ino_t

  /// Remembers what stands at `address` now. The caller has just bound it and holds the directory's lock.
  init(at address: UnixAddress, in directory: borrowing DirectoryLock) throws(SocketServerError) {
    guard let status = try Self.status(of: address, in: directory) else {
      throw .system(call: "stat(\(address.path))", errno: ENOENT)
    }
    self.address = address
    lock = directory.lock
    device = status.st_dev
    inode = status.st_ino
  }

  /// Takes the file away if it is still the one we made: a successor's stays.
  func remove() {
    // Without the lock (the directory is gone, say) there is nothing that could safely be done.
    guard let directory = try? DirectoryLock(for: address, by: lock),
      let status = try? Self.status(of: address, in: directory),
      status.st_dev == device, status.st_ino == inode
    else { return }
    unlinkat(directory.descriptor, address.name, 0)
  }

  /// What stands at `address`, symbolic links not followed; nil for nothing.
  static func status(
    of address: UnixAddress, in directory: borrowing DirectoryLock
  ) throws(SocketServerError) -> stat? {
    var status = stat()
    if fstatat(directory.descriptor, address.name, &status, AT_SYMLINK_NOFOLLOW) == 0 { return status }
    guard errno == ENOENT else { throw .system(call: "stat(\(address.path))", errno: errno) }
    return nil
  }

  /// Makes room at `address`: removes a socket that nobody listens on, and nothing else.
  static func clearStale(_ address: UnixAddress, in directory: borrowing DirectoryLock) throws(SocketServerError) {
    guard let status = try status(of: address, in: directory) else { return }
    guard status.st_mode & S_IFMT == S_IFSOCK else {
      throw .pathOccupied(path: address.path, kind: kind(status.st_mode))
    }
    let probe = try Descriptor(
      "socket", socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0))
    let failed = address.withSockaddr { connect(probe.number, $0, $1) == 0 ? 0 : errno }
    switch failed {
    case ECONNREFUSED:
      guard unlinkat(directory.descriptor, address.name, 0) == 0 || errno == ENOENT else {
        throw .system(call: "unlink(\(address.path))", errno: errno)
      }
    case ENOENT: break
    case 0, EAGAIN, EINPROGRESS: throw .alreadyInUse(path: address.path)
    case EPROTOTYPE: throw .pathOccupied(path: address.path, kind: "a socket of another type")
    default: throw .system(call: "connect(\(address.path)), to see whether it is stale", errno: failed)
    }
  }

  private static func kind(_ mode: mode_t) -> String {
    switch mode & S_IFMT {
    case S_IFREG: "a regular file"
    case S_IFDIR: "a directory"
    case S_IFLNK: "a symbolic link"
    case S_IFIFO: "a named pipe"
    default: "a device file"
    }
  }
}
