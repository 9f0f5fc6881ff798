import Glibc
import PosternSupport

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

  /// Removes the socket files of endpoints that an earlier process with the main socket at `address` has left, on which
  /// no process listens, and nothing else. What cannot be removed stays.
  static func clearEndpoints(of address: UnixAddress, in directory: borrowing DirectoryLock) {
    for name in names(in: directory) where EndpointName.isOne(name, of: address.name) {
      guard let leftover = try? UnixAddress(path: address.sibling(name)) else { continue }
      try? clearStale(leftover, in: directory)
    }
  }

  /// The same for an inherited socket, where its directory can be opened.
  static func clearEndpoints(ofInherited path: String?) {
    guard let path, let address = try? UnixAddress(path: path),
      let directory = try? DirectoryLock(for: address, by: .none)
    else { return }
    clearEndpoints(of: address, in: directory)
  }

  private static func names(in directory: borrowing DirectoryLock) -> [String] {
    let number = openat(directory.descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard number >= 0 else { return [] }
    guard let list = fdopendir(number) else {
      close(number)
      return []
    }
    defer { closedir(list) }
    var names: [String] = []
    while let entry = readdir(list) {
      names.append(
        withUnsafePointer(to: &entry.pointee.d_name) { name in
          name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        })
    }
    return names
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

/// The names of endpoints' socket files: the main socket's name, `.e-` and a random number, in the same directory; for
/// HTTP with `.http` behind it.
package enum EndpointName {
  /// How the second socket's name ends.
  package static let http = ".http"
  private static let digits = 12

  /// The path of a new socket of an endpoint of the main socket at `path`.
  package static func path(nextTo path: String) -> String {
    let number = String(NonSecretRandom.shared.next() & 0xFFFF_FFFF_FFFF, radix: 16)
    return "\(path).e-\(String(repeating: "0", count: digits - number.count))\(number)"
  }

  /// Whether such paths are short enough next to the main socket at `path`.
  package static func fits(nextTo path: String) -> Bool {
    path.utf8.count + 3 + digits + http.utf8.count <= UnixAddress.maximumLength
  }

  /// Whether an endpoint's socket of the main socket `main` has such a name.
  static func isOne(_ name: String, of main: String) -> Bool {
    guard name.startsWithBytes(of: "\(main).e-") else { return false }
    let rest = name.utf8.dropFirst(main.utf8.count + 3)
    let number = rest.prefix(digits)
    return number.count == digits && number.allSatisfy(Hexadecimal.isLowercaseDigit)
      && (rest.count == digits || rest.dropFirst(digits).elementsEqual(http.utf8))
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

  /// The path of another file of the same directory.
  func sibling(_ other: String) -> String { "\(path.dropLast(name.utf8.count))\(other)" }

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
