import Glibc
import PosternSupport

/// A blocking client of one request at a time, for `call` and `probe`: one line out, one line back.
struct SocketClient: ~Copyable {
  /// The reason, for people.
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  private let descriptor: Int32
  private var received: [UInt8] = []

  /// The longest line that is read.
  private static let maxLineBytes = 1 << 30

  /// Connects to the socket at `path`; every later read and write is bound by `timeout`.
  init(path: String, timeout: Duration) throws(Failure) {
    descriptor = try Self.connected(to: path, timeout: timeout)
  }

  deinit { close(descriptor) }

  /// Sends one text and a line feed.
  func send(_ text: [UInt8]) throws(Failure) {
    let line = text + [UInt8(ascii: "\n")]
    var sent = 0
    while sent < line.count {
      let count = line.withUnsafeBytes { buffer in
        Glibc.send(
          descriptor, buffer.baseAddress?.advanced(by: sent), buffer.count - sent, Int32(MSG_NOSIGNAL))
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw Failure(description: "cannot send: \(Self.lastError)") }
      sent += count
    }
  }

  /// The next line, without its line feed.
  mutating func receiveLine() throws(Failure) -> [UInt8] {
    var searched = 0
    while true {
      if let end = received[searched...].firstIndex(of: UInt8(ascii: "\n")) {
        let line = Array(received[..<end])
        received.removeSubrange(...end)
        return line
      }
      searched = received.count
      var chunk = [UInt8](repeating: 0, count: 65_536)
      let count = recv(descriptor, &chunk, chunk.count, 0)
      if count < 0, errno == EINTR { continue }
      if count < 0, errno == EAGAIN { throw Failure(description: "no answer in time") }
      guard count >= 0 else { throw Failure(description: "cannot receive: \(Self.lastError)") }
      guard count > 0 else { throw Failure(description: "the sidecar closed the connection without an answer") }
      guard received.count < Self.maxLineBytes else { throw Failure(description: "the answer is too large") }
      received.append(contentsOf: chunk[..<count])
    }
  }

  private static func connected(to path: String, timeout: Duration) throws(Failure) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    let capacity = MemoryLayout.size(ofValue: address.sun_path) - 1
    guard !bytes.isEmpty, bytes.count <= capacity else {
      throw Failure(description: "the socket's path must have 1 to \(capacity) bytes: \(path)")
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw Failure(description: "socket: \(lastError)") }
    let milliseconds = max(1, timeout.wholeMilliseconds)
    var bound = timeval(tv_sec: Int(milliseconds / 1000), tv_usec: Int(milliseconds % 1000) * 1000)
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      setsockopt(descriptor, SOL_SOCKET, option, &bound, socklen_t(MemoryLayout<timeval>.size))
    }
    let failed = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard failed == 0 else {
      // Nothing listens there: the two mistakes of everyone's first call, and an endpoint that has ended.
      let hint =
        errno == ENOENT || errno == ECONNREFUSED
        ? "; is the sidecar running, and is this its path (--socket, $POSTERN_SOCKET)?" : ""
      let reason = lastError
      close(descriptor)
      throw Failure(description: "cannot connect to \(path): \(reason)\(hint)")
    }
    return descriptor
  }

  private static var lastError: String { SystemError.text() }
}
