import Glibc
import PosternSupport

/// A directory of socket files, held by descriptor and locked (`SocketLock`) while a socket file is put there or taken
/// away: between looking at what stands on the path and replacing it, and between `bind` and `listen`, no other starter
/// may take the file for stale. The lock is on a file of our own: one on the directory anybody could hold who may open
/// it.
struct DirectoryLock: ~Copyable {
  private let directory: Descriptor
  /// What is locked.
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
