import Glibc
import SessionRecords

/// The location of the store's database when it was opened, to check whether it is still there: SQLite continues with a
/// file that has no name any more, and its writes are lost.
struct FileStorePresence: Sendable {
  private let directory: String
  private let device: dev_t
  private let inode: ino_t

  /// The database in `directory` as it is now.
  init(_ directory: StoreDirectory) throws(StoreError) {
    self.directory = directory.path
    let status = try Self.look(directory.path)
    (device, inode) = (status.st_dev, status.st_ino)
  }

  /// Throws when the database is not where it was, or could not be written. Writes nothing.
  func check() throws(StoreError) {
    let status = try Self.look(directory)
    guard status.st_dev == device, status.st_ino == inode else {
      throw StoreError(.unavailable, "another file is where \(Self.path(directory)) was: restart")
    }
    guard faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) == 0,
      faccessat(AT_FDCWD, Self.path(directory), R_OK | W_OK, AT_EACCESS) == 0
    else { throw StoreError(.unavailable, "\(Self.path(directory)) cannot be written any more") }
    var system = statvfs()
    if statvfs(directory, &system) == 0, system.f_blocks > 0, system.f_bavail == 0 {
      throw StoreError(.unavailable, "the file system of \(directory) is full")
    }
  }

  private static func path(_ directory: String) -> String { "\(directory)/\(FileFormat.name)" }

  private static func look(_ directory: String) throws(StoreError) -> stat {
    var status = stat()
    guard lstat(path(directory), &status) == 0 else {
      throw StoreError(.unavailable, "\(path(directory)) is gone: restart")
    }
    return status
  }
}
