import Glibc
import PosternSupport

/// A listening Unix stream socket, ready to be given to the event loop, which then owns the descriptor.
package struct ListeningSocket: Sendable {
  /// Connections that may wait to be accepted; the kernel caps it at `net.core.somaxconn`.
  package static let backlog: CInt = 1024

  package let descriptor: CInt
  /// The file we made; nil for an inherited socket, whose file is the service manager's.
  package let file: SocketFile?
  let path: String?

  /// Listens at `endpoint`; `lock` is that of its path, opened here when it was not before.
  package init(_ endpoint: SocketServer.Endpoint, lock: SocketLock? = nil) throws(SocketServerError) {
    switch endpoint {
    case .inherited(let socket):
      descriptor = socket.descriptor
      file = nil
      path = socket.path
      SocketFile.clearEndpoints(ofInherited: socket.path)
    case .path(let path, let mode, let group):
      let address = try UnixAddress(path: path)
      let directory = try DirectoryLock(for: address, by: lock ?? SocketLock(address))
      try SocketFile.clearStale(address, in: directory)
      SocketFile.clearEndpoints(of: address, in: directory)
      (descriptor, file) = try Self.bind(address, mode: mode & 0o777, group: group, in: directory)
      self.path = path
    }
  }

  /// Listens on a new socket file of an endpoint at `path`, with exactly `mode`.
  package init(endpointAt path: String, mode: UInt32) throws(SocketServerError) {
    let address = try UnixAddress(path: path)
    let directory = try DirectoryLock(for: address, by: .none)
    (descriptor, file) = try Self.bind(address, mode: mode & 0o777, group: nil, in: directory)
    self.path = path
  }

  /// Closes the socket, which is not served, and takes its file away.
  package func discard() {
    file?.remove()
    close(descriptor)
  }

  /// One at a time: the umask is the whole process's.
  private static let umaskLock = Locked(())

  /// Binds, sets group and mode, then listens: `connect()` fails with ECONNREFUSED until `listen()`, so that no peer
  /// connects before the final mode and group are set. The file is made with exactly `mode`, too: Linux takes the mode
  /// of an unbound socket, less the umask, which leaves these bits alone meanwhile. The umask is the whole process's,
  /// so it is changed for that one call only, and lets no more bits through than `mode` has. A process that has started
  /// may not set all modes of a socket: then it is the umask alone.
  private static func bind(
    _ address: UnixAddress, mode: UInt32, group: UInt32?, in directory: borrowing DirectoryLock
  ) throws(SocketServerError) -> (CInt, SocketFile) {
    let socket = try Descriptor(
      "socket", socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0))
    _ = fchmod(socket.number, mode)
    let number = socket.number
    let failed = umaskLock.withLock { _ in
      let mask = umask(0o777 & ~mode)
      defer { umask(mask) }
      return address.withSockaddr { Glibc.bind(number, $0, $1) == 0 ? 0 : errno }
    }
    guard failed == 0 else { throw .system(call: "bind(\(address.path))", errno: failed) }
    let file = try SocketFile(at: address, in: directory)
    do throws(SocketServerError) {
      if let group, fchownat(directory.descriptor, address.name, uid_t.max, group, AT_SYMLINK_NOFOLLOW) != 0 {
        throw .groupRejected(path: address.path, group: group, errno: errno)
      }
      // Where the file system knows no such modes, or others. The C library does this through an O_PATH descriptor: a
      // symbolic link instead of the file is an error.
      guard
        try SocketFile.status(of: address, in: directory).map({ $0.st_mode & 0o7777 == mode }) == true
          || fchmodat(directory.descriptor, address.name, mode, AT_SYMLINK_NOFOLLOW) == 0
      else {
        throw .system(call: "chmod(\(address.path))", errno: errno)
      }
      guard listen(socket.number, backlog) == 0 else { throw .system(call: "listen", errno: errno) }
    } catch {
      unlinkat(directory.descriptor, address.name, 0)
      throw error
    }
    return (socket.release(), file)
  }
}

/// A descriptor that is closed when its owner lets it go, unless it is handed on.
struct Descriptor: ~Copyable {
  let number: CInt

  /// Takes what a system call returned, or throws its `errno`.
  init(_ call: String, _ number: CInt) throws(SocketServerError) {
    guard number >= 0 else { throw .system(call: call, errno: errno) }
    self.number = number
  }

  deinit { close(number) }

  /// Passes the descriptor to the caller, which closes it.
  consuming func release() -> CInt {
    let number = number
    discard self
    return number
  }
}
