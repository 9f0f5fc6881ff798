import Glibc
import PosternSupport

/// An open file of the log, locked against other processes, in which whole lines are written. Used by one thread.
final class AuditFile {
  let path: String
  /// The offset of the next line.
  private(set) var end: Int
  private let descriptor: Int32
  /// Whether a failed write left a part of a line, which must be removed before the next write.
  private var isRagged = false

  /// Opens an existing file for reading; nil when it is compressed, no regular file, or not permitted. Throws a
  /// transient error while another process writes to it.
  convenience init?(existing path: String, isOurs: Bool) throws(AuditError) {
    guard ![".gz", ".xz", ".zst", ".bz2"].contains(where: path.hasSuffix) else { return nil }
    do throws(AuditError) {
      try self.init(path, flags: O_RDONLY, isOurs: isOurs)
    } catch {
      guard !error.isTransient else { throw error }
      return nil
    }
  }

  /// The time of the last change of the file at `path`, in the format of records; nil when there is no file.
  static func changeTime(of path: String) -> String? {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    return Timestamp(secondsSinceEpoch: Int64(status.st_mtim.tv_sec)).rfc3339
  }

  /// Opens the file at `path`, and creates it with mode 0600 when it is missing. If the log `isOurs`, by its lock file,
  /// a lock on a file that others may read is ignored, since it must be that of a reader.
  convenience init(_ path: String, isOurs: Bool) throws(AuditError) {
    try self.init(path, flags: O_RDWR | O_CREAT, isOurs: isOurs)
  }

  private init(_ path: String, flags: Int32, isOurs: Bool) throws(AuditError) {
    self.path = path
    // Does not block on a pipe, and does not follow a symbolic link.
    descriptor = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
    guard descriptor >= 0 else {
      let isLink = errno == ELOOP
      throw isLink ? AuditError("\(path): is a symbolic link") : Self.failure(path)
    }
    end = 0
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw Self.failure(path) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw AuditError("\(path): is not a regular file") }
    guard status.st_mode & 0o022 == 0 else {
      throw AuditError("\(path): can be written by others: chmod go-w")
    }
    let isReader = isOurs && status.st_mode & 0o044 != 0
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 || isReader && errno == EWOULDBLOCK else {
      throw errno == EWOULDBLOCK
        ? AuditError("\(path): another process writes to it", isTransient: true) : Self.failure(path)
    }
    // The process that had the lock may have written to it, or renamed it, until now.
    guard fstat(descriptor, &status) == 0 else { throw Self.failure(path) }
    end = Int(status.st_size)
    guard isInPlace else { throw AuditError("\(path): was renamed just now", isTransient: true) }
  }

  deinit { close(descriptor) }

  /// The current size of the file, and whether it still has a name; nil when that is unknown.
  var found: (byteCount: Int, hasName: Bool)? {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return nil }
    return (Int(status.st_size), status.st_nlink > 0)
  }

  /// Whether `path` still is the path of this file.
  var isInPlace: Bool {
    var (mine, named) = (stat(), stat())
    return fstat(descriptor, &mine) == 0 && lstat(path, &named) == 0 && mine.st_ino == named.st_ino
      && mine.st_dev == named.st_dev
  }

  /// The last bytes, at most `limit` of them.
  func tail(atMost limit: Int) throws(AuditError) -> [UInt8] {
    let start = max(0, end - limit)
    var bytes = [UInt8](repeating: 0, count: end - start)
    var used = 0
    while used < bytes.count {
      let count = bytes.withUnsafeMutableBytes { [descriptor] in
        pread(descriptor, $0.baseAddress.map { $0 + used }, $0.count - used, off_t(start + used))
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw Self.failure(path) }
      used += count
    }
    return bytes
  }

  /// Writes whole lines, or nothing.
  func append(_ lines: [UInt8]) throws(AuditError) {
    if isRagged { try cut(to: end) }
    var used = 0
    while used < lines.count {
      let count = lines.withUnsafeBytes { [descriptor, end] in
        pwrite(descriptor, $0.baseAddress.map { $0 + used }, $0.count - used, off_t(end + used))
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        let failure = Self.failure(path)
        isRagged = true
        try? cut(to: end)
        throw failure
      }
      used += count
    }
    end += used
  }

  /// Continues after `byteCount` bytes, which another program has written; an unfinished line gets its line feed.
  func adopt(_ byteCount: Int) throws(AuditError) {
    end = byteCount
    guard byteCount > 0, try tail(atMost: 1) != [UInt8(ascii: "\n")] else { return }
    try append([UInt8(ascii: "\n")])
  }

  /// Truncates the file to `byteCount`.
  func cut(to byteCount: Int) throws(AuditError) {
    guard ftruncate(descriptor, off_t(byteCount)) == 0 else { throw Self.failure(path) }
    end = byteCount
    isRagged = false
  }

  /// Waits until everything is on the disk.
  func synchronize() throws(AuditError) {
    guard fdatasync(descriptor) == 0 else { throw Self.failure(path) }
  }

  /// The error of the last system call on `path`.
  static func failure(_ path: String) -> AuditError {
    AuditError(
      "\(path): \(SystemError.text())", isTransient: [ENOSPC, EDQUOT, EFBIG, EIO].contains(errno))
  }
}
