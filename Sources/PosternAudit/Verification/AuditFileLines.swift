import Glibc

/// The lines of a file, one after another, however large it is.
struct AuditFileLines: ~Copyable {
  /// What comes next.
  enum Next {
    /// A line, without its line feed.
    case line(ArraySlice<UInt8>)
    /// The file ends without a line feed.
    case unfinished
    /// A line that is longer than any record.
    case tooLong
    /// The end.
    case end
  }

  private static let blockBytes = 256 << 10

  private let descriptor: Int32
  private let path: String
  private var buffer: [UInt8] = []
  private var start = 0
  private var isAtEnd = false

  /// Opens the file; never waits for a pipe.
  init(_ path: String) throws(AuditError) {
    descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    self.path = path
    guard descriptor >= 0 else { throw AuditError("\(path): \(String(cString: strerror(errno)))") }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw AuditError("\(path): is not a regular file")
    }
  }

  deinit { close(descriptor) }

  /// The next line.
  mutating func next() throws(AuditError) -> Next {
    var searched = start
    while true {
      if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
        defer { start = end + 1 }
        return .line(buffer[start..<end])
      }
      if isAtEnd { return start < buffer.count ? .unfinished : .end }
      guard buffer.count - start <= AuditLine.longest else { return .tooLong }
      buffer.removeFirst(start)
      start = 0
      searched = buffer.count
      try fill()
    }
  }

  private mutating func fill() throws(AuditError) {
    let used = buffer.count
    buffer.append(contentsOf: repeatElement(0, count: Self.blockBytes))
    while true {
      let count = buffer.withUnsafeMutableBytes {
        read(descriptor, $0.baseAddress.map { $0 + used }, Self.blockBytes)
      }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw AuditError("\(path): \(String(cString: strerror(errno)))") }
      buffer.removeLast(Self.blockBytes - count)
      isAtEnd = count == 0
      return
    }
  }
}
