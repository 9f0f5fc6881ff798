import Glibc

/// A file by which the processes of one user take turns: nobody else can open it, and so nobody else can hold its lock,
/// as anybody can that of a file or directory that he may read (flock(2)). It stays when the process ends.
public final class LockFile: Sendable {
  /// Why there is no such file; nil when there is, or not even its directory.
  public let problem: String?
  private let descriptor: CInt

  /// Opens the file at `path`, or makes it. Under a sandbox that may be forbidden.
  public init(at path: String) {
    // Whatever somebody else has put there is not followed, waited for, or written to.
    let opened = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
    guard opened >= 0 else {
      descriptor = -1
      problem = errno == ENOENT || errno == ENOTDIR ? nil : "\(path): \(String(cString: strerror(errno)))"
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

  /// Takes the lock, if nobody else has it now. Where there is no file everybody gets it.
  public func take() -> Bool { !isThere || flock(descriptor, LOCK_EX | LOCK_NB) == 0 }

  /// Lets the next one have it; so does the end of this object.
  public func giveBack() { if isThere { flock(descriptor, LOCK_UN) } }

  /// Why others could hold the lock of what was opened.
  private static func objection(to descriptor: CInt) -> String? {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return String(cString: strerror(errno)) }
    if status.st_mode & S_IFMT != S_IFREG { return "is not a regular file" }
    if status.st_uid != geteuid() { return "belongs to user \(status.st_uid)" }
    return status.st_mode & 0o077 == 0 ? nil : "is open to others"
  }
}
