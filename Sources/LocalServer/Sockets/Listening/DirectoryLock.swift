import Glibc
public import PosternSupport

/// A directory of socket files, open and locked (`SocketLock`) while a socket file is made or removed there: between
/// examining the path and replacing the file, and between `bind` and `listen`, no other process may consider the file
/// stale. The lock is on a file of our own: every user that may open the directory could lock that.
struct DirectoryLock: ~Copyable {
  private let directory: Descriptor
  /// The lock.
  let lock: SocketLock

  /// Opens and locks the directory of `address`.
  init(for address: UnixAddress, by lock: SocketLock) throws(SocketServerError) {
    let number = open(address.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if number < 0, errno == ENOENT || errno == ENOTDIR {
      throw .directoryMissing(path: address.path, directory: address.directory)
    }
    let directory = try Descriptor("open(\(address.directory))", number)
    try lock.take(in: address.directory)
    self.directory = directory
    self.lock = lock
  }

  deinit { lock.file.giveBack() }

  /// The directory, for the `…at` calls.
  var descriptor: CInt { directory.number }
}

/// Serializes the making and removing of a socket file between processes, with the lock file `.NAME.lock` next to it.
/// To be made before the process is in a sandbox.
public struct SocketLock: Sendable {
  /// Without it two starts at the same moment may disturb each other, and nothing else.
  public let file: LockFile

  /// How long to wait for another starter.
  private static let patience: (tries: Int, pauseNanoseconds: Int) = (250, 20_000_000)

  /// The lock of the socket at `socketPath`.
  public init(for socketPath: String) throws(SocketServerError) {
    self.init(try UnixAddress(path: socketPath))
  }

  /// The lock of the socket at `address`.
  init(_ address: UnixAddress) { file = LockFile(at: "\(address.directory)/.\(address.name).lock") }

  /// Locks nothing: for files with a name that no other process uses.
  static let none = SocketLock(file: LockFile(at: ""))

  private init(file: LockFile) { self.file = file }

  /// Waits until no other process has the lock.
  func take(in directory: String) throws(SocketServerError) {
    for _ in 0..<Self.patience.tries {
      if file.take() { return }
      var pause = timespec(tv_sec: 0, tv_nsec: Self.patience.pauseNanoseconds)
      nanosleep(&pause, nil)
    }
    throw .directoryLocked(directory: directory)
  }
}
