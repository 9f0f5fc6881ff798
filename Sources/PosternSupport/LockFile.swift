import Glibc

/// A lock file between processes of one user. Other users cannot open it, and so cannot take its lock, as they can take
/// that of a file or directory that they may read (flock(2)). The file stays when the process exits.
public final class LockFile: Sendable {
  /// Why there is no such file; nil when there is, or not even its directory.
  public let problem: String?
  private let descriptor: CInt

  /// Opens the file at `path`, or makes it. Under a sandbox that may be forbidden.
  public init(at path: String) {
    // A file of another user is not followed, waited for, or written to.
    let opened = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
    guard opened >= 0 else {
      descriptor = -1
      problem = errno == ENOENT || errno == ENOTDIR ? nil : "\(path): \(SystemError.text())"
      return
    }
    let objection = Self.objection(to: opened)
    if objection != nil { close(opened) }
    descriptor = objection == nil ? opened : -1
    problem = objection.map { "\(path) \($0)" }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Whether there is a file to lock.
  public var isThere: Bool { descriptor >= 0 }

  /// Takes the lock, if no other process has it now. Where there is no file every process gets it.
  public func take() -> Bool { !isThere || flock(descriptor, LOCK_EX | LOCK_NB) == 0 }

  /// Lets the next one have it; so does the end of this object.
  public func giveBack() { if isThere { flock(descriptor, LOCK_UN) } }

  /// Why others could hold the lock of what was opened.
  private static func objection(to descriptor: CInt) -> String? {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return SystemError.text() }
    if status.st_mode & S_IFMT != S_IFREG { return "is not a regular file" }
    if status.st_uid != geteuid() { return "belongs to user \(status.st_uid)" }
    return status.st_mode & 0o077 == 0 ? nil : "is open to others"
  }
}

/// Identifies a version of a file without reading it: device, inode, size and time of change.
public struct FileStamp: Hashable {
  private let device: UInt64
  private let node: UInt64
  private let size: Int64
  private let modified: [Int]

  /// The file at `path`, symbolic links followed; nil when it cannot be examined.
  public init?(_ path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    device = UInt64(status.st_dev)
    node = UInt64(status.st_ino)
    size = Int64(status.st_size)
    modified = [status.st_mtim.tv_sec, status.st_mtim.tv_nsec]
  }

  /// As text, for a digest.
  public var description: String { "\(device) \(node) \(size) \(modified)" }
}

/// The file descriptors of this process.
public enum FileDescriptors {
  /// Whether there is none left to be had (EMFILE, ENFILE).
  public static var areOut: Bool {
    // A number for it is looked for before the name is.
    let descriptor = open("/", O_RDONLY | O_CLOEXEC)
    guard descriptor < 0 else {
      close(descriptor)
      return false
    }
    return errno == EMFILE || errno == ENFILE
  }
}

extension LockFile: ConciseStringConvertible {
  /// Whether there is a file to lock.
  public var description: String { problem.map { "no file to lock: \(Concise.name($0))" } ?? "a file to lock" }
}

extension FileStamp: ConciseStringConvertible {}
