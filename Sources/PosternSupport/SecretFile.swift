import Glibc

/// A file with a secret that is replaced while the process runs: by a rename, or by a symbolic link on its path that
/// comes to lead elsewhere, as Kubernetes replaces mounted secrets.
///
/// The path is opened for each read: nothing that watches the file itself would see such a replacement.
public final class SecretFile: Sendable {
  /// Why a file has no secret that can be used. Quotes nothing of it.
  public enum Problem: String, Error, Sendable, Hashable, CaseIterable {
    /// There is no such file.
    case missing
    /// This process may not read it, or reading fails.
    case unreadable
    /// A directory, a pipe, a socket or a device.
    case notRegular = "not_regular"
    /// Nothing, or nothing but the end of a line.
    case empty
    /// Longer than the limit.
    case tooLarge = "too_large"
    /// More than one line, a control character, or bytes that are not UTF-8.
    case malformed
    /// One line, but not what is needed here.
    case unsuitable

    /// The problem in words, behind the file's name.
    public var message: String {
      switch self {
      case .missing: "there is no such file"
      case .unreadable: "the file cannot be read"
      case .notRegular: "this is not a regular file"
      case .empty: "the file is empty"
      case .tooLarge: "the file is too large"
      case .malformed: "the file is not one line of text"
      case .unsuitable: "the content has a character, or a length, that is not possible here"
      }
    }
  }

  /// Takes the path of a file, and why it cannot be used; nil when it can again.
  public typealias Report = @Sendable (_ path: String, _ problem: String?) -> Void

  private struct State {
    var stamp: FileStamp?
    var content: Secret<String>?
    var checked: MonotonicInstant?
    var isBroken = false
  }

  /// Where it is.
  public let path: String
  private let limit: Int
  private let interval: Duration
  private let accepts: @Sendable (Secret<String>) -> Bool
  private let clock: any EngineClock
  private let report: Report
  private let state = Locked(State())

  /// The file at `path`, with at most `limit` bytes. A content is used for `interval` before the file is looked at
  /// again. What `accepts` rejects is as unusable as a missing file.
  public init(
    path: String, limit: Int = 64 << 10, interval: Duration = .seconds(1), clock: some EngineClock = SystemClock(),
    report: @escaping Report = { _, _ in }, accepts: @escaping @Sendable (Secret<String>) -> Bool = { _ in true }
  ) {
    self.path = path
    self.limit = limit
    self.interval = interval
    self.accepts = accepts
    self.clock = clock
    self.report = report
  }

  /// The content at this moment, without the end of its line. Nothing is cached.
  public func read() throws(Problem) -> Secret<String> {
    // Non-blocking, so that a pipe at that path cannot stop the caller.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
    guard descriptor >= 0 else { throw errno == ENOENT || errno == ENOTDIR ? .missing : .unreadable }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw .unreadable }
    guard status.st_mode & S_IFMT == S_IFREG else { throw .notRegular }
    guard status.st_size <= limit else { throw .tooLarge }
    var bytes: [UInt8] = []
    while true {
      let wanted = min(4096, limit + 1 - bytes.count)
      var count = 0
      bytes.append(
        contentsOf: [UInt8](unsafeUninitializedCapacity: wanted) { buffer, initialized in
          repeat { count = Glibc.read(descriptor, buffer.baseAddress, wanted) } while count < 0 && errno == EINTR
          initialized = max(0, count)
        })
      guard count >= 0 else { throw .unreadable }
      guard bytes.count <= limit else { throw .tooLarge }
      if count == 0 { break }
    }
    let content = try Self.line(bytes)
    guard accepts(content) else { throw .unsuitable }
    return content
  }

  /// The last content that could be used: read again when the file is another, within `interval`. Nil where there never
  /// was one.
  ///
  /// A file that becomes unusable keeps its last content in force, and is reported once, as its repair is.
  public func current() -> Secret<String>? {
    let now = clock.monotonicNow
    let known = state.withLock { state -> State? in
      guard let checked = state.checked, now < checked + interval else { return nil }
      // Until the first read ends, nothing is known yet: another caller reads for itself.
      return state.content != nil || state.isBroken ? state : nil
    }
    if let known { return known.content }
    // Before reading: whatever is replaced meanwhile is read the next time.
    let stamp = FileStamp(path)
    let isSame = state.withLock { state -> Bool in
      state.checked = now
      return stamp != nil && state.stamp == stamp && state.content != nil && !state.isBroken
    }
    if isSame { return state.withLock { $0.content } }
    do throws(Problem) {
      let content = try read()
      let wasBroken = state.withLock { state -> Bool in
        defer { (state.stamp, state.content, state.isBroken) = (stamp, content, false) }
        return state.isBroken
      }
      if wasBroken { report(path, nil) }
      return content
    } catch {
      let (content, isNews) = state.withLock { state -> (Secret<String>?, Bool) in
        defer { state.isBroken = true }
        return (state.content, !state.isBroken)
      }
      if isNews { report(path, error.message) }
      return content
    }
  }

  /// One line of text: a line feed, or CR LF, at its end is not part of it.
  private static func line(_ bytes: [UInt8]) throws(Problem) -> Secret<String> {
    var bytes = bytes[...]
    if bytes.last == UInt8(ascii: "\n") {
      bytes.removeLast()
      if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
    }
    guard !bytes.isEmpty else { throw .empty }
    guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }), let text = String(validating: bytes, as: UTF8.self) else {
      throw .malformed
    }
    return Secret(text)
  }
}

extension SecretFile: ConciseStringConvertible {
  /// The path: never the content.
  public var description: String { "secret of \(path)" }
}
