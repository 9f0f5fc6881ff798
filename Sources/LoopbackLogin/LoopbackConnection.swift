import Glibc
import PosternSupport

/// One connection of a browser: one request, one page.
final class LoopbackConnection {
  /// The result of a read.
  enum Received {
    /// Not the whole header block yet.
    case more
    /// The target of a GET request.
    case request(String)
    /// The end, or something that is no GET request.
    case nothing
  }

  private static let maxRequestBytes = 64 << 10

  let descriptor: Int32
  private var request: [UInt8] = []

  /// Takes over a descriptor that does not block.
  init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// Reads what is there. The header block is read to its end: closing a connection with something unread would take
  /// the page away from the browser, and its cookies, which know no ports, can be long.
  func read() -> Received {
    var chunk = [UInt8](repeating: 0, count: 8192)
    while true {
      let count = recv(descriptor, &chunk, chunk.count, 0)
      if count < 0, errno == EINTR { continue }
      if count < 0, errno == EAGAIN { return .more }
      guard count > 0, request.count + count <= Self.maxRequestBytes else { return .nothing }
      let searched = max(0, request.count - 3)
      request.append(contentsOf: chunk[..<count])
      if Self.endsHeaders(request[searched...]) { return target.map { .request($0) } ?? .nothing }
    }
  }

  /// Sends the page. It fits into the socket's buffer; a browser that does not take it goes without.
  func answer(_ page: LoginPage) {
    let response = page.response
    _ = response.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    shutdown(descriptor, Int32(SHUT_WR))
  }

  private var target: String? {
    let line = request.prefix { $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n") }
    let words = String(decoding: line, as: UTF8.self).split(atByte: " ", omittingEmptySubsequences: false)
    guard words.count == 3, words[0] == "GET", words[2].startsWithBytes(of: "HTTP/1.") else { return nil }
    return String(words[1])
  }

  private static func endsHeaders(_ bytes: ArraySlice<UInt8>) -> Bool {
    let end = Array("\r\n\r\n".utf8)
    return bytes.indices.contains { bytes[$0...].starts(with: end) }
  }
}
