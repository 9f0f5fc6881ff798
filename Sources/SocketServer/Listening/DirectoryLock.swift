import Glibc

/// A directory of socket files, held by descriptor and locked (`flock`) while a socket file is put there or taken away:
/// between looking at what stands on the path and replacing it, and between `bind` and `listen`, no other starter may
/// take the file for stale. The lock is on the directory itself, so nothing is left behind, and it ends with the process.
struct DirectoryLock: ~Copyable {
  private let directory: Descriptor

  /// How long to wait for another starter.
  private static let patience: (tries: Int, pauseNanoseconds: Int) = (250, 20_000_000)

  /// Opens and locks the directory of `address`.
  init(for address: UnixAddress) throws(SocketServerError) {
    let number = open(address.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if number < 0, errno == ENOENT || errno == ENOTDIR {
      throw .directoryMissing(path: address.path, directory: address.directory)
    }
    let directory = try Descriptor("open(\(address.directory))", number)
    try Self.lock(number, name: address.directory)
    self.directory = directory
  }

  /// The directory, for the `…at` calls.
  var descriptor: CInt { directory.number }

  private static func lock(_ descriptor: CInt, name: String) throws(SocketServerError) {
    for _ in 0..<patience.tries {
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return }
      guard errno == EWOULDBLOCK || errno == EINTR else { throw .system(call: "flock(\(name))", errno: errno) }
      var pause = timespec(tv_sec: 0, tv_nsec: patience.pauseNanoseconds)
      nanosleep(&pause, nil)
    }
    throw .directoryLocked(directory: name)
  }
}
