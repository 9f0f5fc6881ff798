import Glibc
import PosternCrypto
import PosternSupport

/// The file that keeps a device's id: made once, whole or not at all, never written again.
struct DeviceIdentifierFile {
  /// Why there is no id.
  struct Failure: Error {
    let message: String
  }

  /// The content of the file, and whether it has just been created.
  struct Contents {
    let text: String
    let isNew: Bool
  }

  private static let maxBytes = 1024

  let path: String

  /// The id, made when the file is missing.
  func readOrMake() throws(Failure) -> Contents {
    if let text = try read() { return Contents(text: text, isNew: false) }
    let isOurs = try make()
    // Of several processes that start at the same time one creates it, and all read the same.
    guard let text = try read() else { throw failure("cannot be made: its name is a dangling link") }
    return Contents(text: text, isNew: isOurs)
  }

  /// The id; where the file is missing, any, if the file could be made.
  func readOrTry() throws(Failure) -> Contents {
    if let text = try read() { return Contents(text: text, isNew: false) }
    guard access(directory, W_OK | X_OK) == 0 else { throw failure("cannot be made", errno) }
    return Contents(text: "-", isNew: false)
  }

  /// The id in the file; nil when there is no file.
  private func read() throws(Failure) -> String? {
    // Links are followed, as secrets are mounted; not waiting, so that a pipe there cannot hang the start.
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
    guard file >= 0 else {
      guard errno == ENOENT else { throw failure("cannot be read", errno) }
      return nil
    }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { throw failure("is not a regular file") }
    guard status.st_mode & 0o002 == 0 else { throw failure("can be written by everybody: chmod o-w") }
    var bytes = [UInt8](repeating: 0, count: Self.maxBytes + 1)
    var count = 0
    repeat { count = Glibc.read(file, &bytes, bytes.count) } while count < 0 && errno == EINTR
    guard count >= 0 else { throw failure("cannot be read", errno) }
    bytes.removeLast(bytes.count - count)
    if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
    guard (1...Self.maxBytes).contains(bytes.count), bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      throw failure("holds no device id: one line of 1 to \(Self.maxBytes) visible ASCII characters")
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Creates the file with a random id; false when another process was first.
  ///
  /// Written under a temporary name and then linked: a file with the final name is complete and on disk, and nothing is
  /// ever overwritten or written through a link.
  private func make() throws(Failure) -> Bool {
    let unfinished = "\(path).\(Hexadecimal.string(SecureRandom.bytes(8)))"
    let file = open(unfinished, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw failure("cannot be made", errno) }
    defer { unlink(unfinished) }
    let line = Array("\(Hexadecimal.string(SecureRandom.bytes(32)))\n".utf8)
    let isWritten = fchmod(file, 0o600) == 0 && write(file, line, line.count) == line.count && fsync(file) == 0
    let code = errno
    close(file)
    guard isWritten else { throw failure("cannot be written", code) }
    guard link(unfinished, path) == 0 else {
      guard errno == EEXIST else { throw failure("cannot be made", errno) }
      return false
    }
    let parent = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard parent >= 0 else { throw failure("cannot be written", errno) }
    defer { close(parent) }
    guard fsync(parent) == 0 else { throw failure("cannot be written", errno) }
    return true
  }

  private var directory: String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  private func failure(_ problem: String, _ code: Int32? = nil) -> Failure {
    Failure(message: "\(path) \(problem)\(code.map { ": \(SystemError.text($0))" } ?? "")")
  }
}
