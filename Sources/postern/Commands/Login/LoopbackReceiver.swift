import Glibc
import Support

/// Takes the one request by which a browser comes back from a login, on a loopback address (RFC 8252 section 7.3).
struct LoopbackReceiver: ~Copyable {
  /// Why there is no callback.
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  private static let maxRequestBytes = 64 << 10
  private static let path = "/callback"

  private let listener: Int32
  /// The port the system gave, or the one that was asked for.
  let port: UInt16

  /// Listens on 127.0.0.1; port 0 takes any that is free.
  init(port: UInt16) throws(Failure) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw Self.failure("no socket") }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && listen(descriptor, 8) == 0 && getsockname(descriptor, $0, &length) == 0
      }
    }
    guard isBound else {
      let failure = Self.failure("cannot listen on 127.0.0.1:\(port)")
      close(descriptor)
      throw failure
    }
    listener = descriptor
    self.port = UInt16(bigEndian: address.sin_port)
  }

  deinit { close(listener) }

  /// Where the issuer is to send the browser.
  var redirectURI: String { "http://127.0.0.1:\(port)\(Self.path)" }

  /// The URL of the first request for the callback; whatever else comes is told that it is in the wrong place.
  func callback(timeout seconds: Int) throws(Failure) -> String {
    let clock = SystemClock()
    let deadline = Deadline(in: .seconds(seconds), on: clock)
    while true {
      let remaining = deadline.remaining(on: clock).map { max(0, $0.wholeMilliseconds) } ?? 0
      var events = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
      let ready = poll(&events, 1, Int32(clamping: remaining))
      if ready < 0, errno == EINTR { continue }
      guard ready > 0 else { throw Failure(description: "nobody came back within \(seconds) seconds") }
      let connection = accept(listener, nil, nil)
      guard connection >= 0 else { continue }
      defer { close(connection) }
      _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
      guard let target = Self.target(of: connection) else { continue }
      let isCallback = target == Self.path || target.hasPrefix("\(Self.path)?")
      Self.answer(connection, isCallback ? Self.donePage : Self.elsewherePage, isCallback ? "200 OK" : "404 Not Found")
      if isCallback { return "http://127.0.0.1:\(port)\(target)" }
    }
  }

  /// The target of a GET request; nil for anything else, and for a browser that opens a connection and says nothing.
  private static func target(of connection: Int32) -> String? {
    var patience = timeval(tv_sec: 5, tv_usec: 0)
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    var request: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 8192)
    while !request.contains(UInt8(ascii: "\n")), request.count < maxRequestBytes {
      let count = recv(connection, &chunk, chunk.count, 0)
      guard count > 0 else { return nil }
      request.append(contentsOf: chunk[..<count])
    }
    let line = request.prefix { $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n") }
    let words = String(decoding: line, as: UTF8.self).split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3, words[0] == "GET", words[2].hasPrefix("HTTP/1.") else { return nil }
    return String(words[1])
  }

  private static func answer(_ connection: Int32, _ page: String, _ status: String) {
    let body = Array(page.utf8)
    let head = """
      HTTP/1.1 \(status)\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: \(body.count)\r\n\
      Cache-Control: no-store\r\nContent-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n\
      Referrer-Policy: no-referrer\r\nConnection: close\r\n\r\n
      """
    var rest = (Array(head.utf8) + body)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
    // The browser has what it needs before the connection is gone.
    shutdown(connection, Int32(SHUT_WR))
  }

  private static func failure(_ what: String) -> Failure {
    Failure(description: "\(what): \(String(cString: strerror(errno)))")
  }

  private static let donePage = page(
    "Back to the terminal", "The login is being completed there. You can close this window.")
  private static let elsewherePage = page("Nothing here", "This address waits for a login to come back.")

  private static func page(_ title: String, _ text: String) -> String {
    """
    <!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">\
    <title>\(title)</title><style>body{font:1.1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:15vh auto;padding:0 1rem}\
    @media(prefers-color-scheme:dark){body{background:#111;color:#eee}}</style><h1>\(title)</h1><p>\(text)</p></html>
    """
  }
}
