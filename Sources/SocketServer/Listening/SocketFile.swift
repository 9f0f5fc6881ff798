import Glibc

/// A socket file this process has made, known by its inode.
package struct SocketFile: Sendable {
  let address: UnixAddress
  private let lock: SocketLock
  private let device: dev_t
  private let inode: ino_t

  /// Notes the inode at `address`. The caller has just bound it and holds the directory's lock.
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
  package func remove() {
    // Without the lock (the directory is gone, say) there is nothing that could safely be done.
    guard let directory = try? DirectoryLock(for: address, by: lock),
      let status = try? Self.status(of: address, in: directory),
      status.st_dev == device, status.st_ino == inode
    else { return }
    unlinkat(directory.descriptor, address.name, 0)
  }

  /// The file at `address`, symbolic links not followed; nil when there is none.
  static func status(
    of address: UnixAddress, in directory: borrowing DirectoryLock
  ) throws(SocketServerError) -> stat? {
    var status = stat()
    if fstatat(directory.descriptor, address.name, &status, AT_SYMLINK_NOFOLLOW) == 0 { return status }
    guard errno == ENOENT else { throw .system(call: "stat(\(address.path))", errno: errno) }
    return nil
  }

  /// Removes a socket at `address` on which no process listens, and nothing else.
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

/// The directory of the socket, where the configuration gives its mode and group.
public enum SocketDirectory {
  /// Gives the directory of `socketPath` the mode and the group: it is made when it is missing (not its parents). False
  /// when it belongs to another user, who decides: then nothing is changed.
  public static func prepare(
    for socketPath: String, mode: UInt32, group: UInt32?
  ) throws(SocketServerError) -> Bool {
    let path = try UnixAddress(path: socketPath).directory
    // Private until group and mode are set.
    if mkdir(path, 0o700) != 0, errno != EEXIST { throw .system(call: "mkdir(\(path))", errno: errno) }
    let directory = try Descriptor("open(\(path))", open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC))
    var status = stat()
    guard fstat(directory.number, &status) == 0 else { throw .system(call: "stat(\(path))", errno: errno) }
    guard status.st_uid == geteuid() else { return false }
    // First: the setgid bit needs membership in the group that the directory has then.
    if let group, status.st_gid != group, fchown(directory.number, uid_t.max, group) != 0 {
      throw .groupRejected(path: path, group: group, errno: errno)
    }
    guard status.st_mode & 0o7777 != mode || group != nil else { return true }
    guard fchmod(directory.number, mode) == 0 else { throw .system(call: "chmod(\(path))", errno: errno) }
    return true
  }
}

/// A path as `sun_path` can hold it.
struct UnixAddress: Sendable, Hashable {
  /// `sun_path` has 108 bytes, one of them for the NUL.
  static let maximumLength = 107

  let path: String
  /// The part before the last slash; `.` when there is none.
  let directory: String
  /// The part after it.
  let name: String

  /// Checks `path` and takes it apart.
  init(path: String) throws(SocketServerError) {
    let bytes = Array(path.utf8)
    guard !bytes.isEmpty, !bytes.contains(0), bytes.last != UInt8(ascii: "/") else { throw .pathUnusable }
    guard bytes.count <= Self.maximumLength else { throw .pathTooLong(path: path, length: bytes.count) }
    self.path = path
    if let slash = bytes.lastIndex(of: UInt8(ascii: "/")) {
      directory = slash == 0 ? "/" : String(decoding: bytes[..<slash], as: UTF8.self)
      name = String(decoding: bytes[(slash + 1)...], as: UTF8.self)
    } else {
      directory = "."
      name = path
    }
  }

  /// Calls `body`, one of bind and connect, with the address.
  func withSockaddr(_ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt) -> CInt {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { target in
      target.copyBytes(from: path.utf8.prefix(Self.maximumLength))
    }
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }
}
