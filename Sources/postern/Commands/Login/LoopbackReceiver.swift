import Glibc
import Support

/// Takes the requests by which a browser comes back from a login, on a loopback address (RFC 8252 section 7.3).
struct LoopbackReceiver: ~Copyable {
  /// Why there is no callback.
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// A request for the callback, whose connection waits for its page.
  struct Visit {
    /// The whole URL, as the issuer chose it.
    let url: String
    fileprivate let connection: LoopbackConnection

    /// Answers, and lets go of the browser.
    func answer(_ page: LoginPage) { connection.answer(page) }
  }

  /// Browsers open connections ahead of need, and any page may open some: beyond these the oldest makes way.
  private static let maxConnections = 16
  private static let path = "/callback"

  private let listener: Int32
  private let clock = SystemClock()
  private var connections: [LoopbackConnection] = []
  /// The port the system gave, or the one that was asked for.
  let port: UInt16

  /// Listens on 127.0.0.1; port 0 takes any that is free.
  init(port: UInt16) throws(Failure) {
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    let descriptor = socket(AF_INET, kind, 0)
    guard descriptor >= 0 else { throw Self.failure("no socket") }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && listen(descriptor, 128) == 0 && getsockname(descriptor, $0, &length) == 0
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

  /// The next request for the callback; whatever else comes is told that it is in the wrong place. A connection that says
  /// nothing keeps none of the others waiting.
  mutating func nextVisit(by deadline: Deadline) throws(Failure) -> Visit {
    while true {
      let left = deadline.remaining(on: clock).map(\.wholeMilliseconds) ?? 0
      guard left > 0 else { throw Failure(description: "nobody came back in time") }
      var waiting = [pollfd(fd: listener, events: Int16(POLLIN), revents: 0)]
      waiting += connections.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
      let ready = poll(&waiting, nfds_t(waiting.count), Int32(clamping: left))
      guard ready > 0 else { continue }
      if let visit = read(waiting.dropFirst().filter { $0.revents != 0 }.map(\.fd)) { return visit }
      if waiting[0].revents != 0 { accept() }
    }
  }

  private mutating func accept() {
    let descriptor = Glibc.accept(listener, nil, nil)
    guard descriptor >= 0 else { return }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    if connections.count >= Self.maxConnections { connections.removeFirst() }
    connections.append(LoopbackConnection(descriptor))
  }

  /// Reads what has come; the first request for the callback is a visit.
  private mutating func read(_ ready: [Int32]) -> Visit? {
    for connection in connections where ready.contains(connection.descriptor) {
      switch connection.read() {
      case .more: continue
      case .nothing: break
      case .request(let target):
        if target == Self.path || target.hasPrefix("\(Self.path)?") {
          connections.removeAll { $0 === connection }
          return Visit(url: "http://127.0.0.1:\(port)\(target)", connection: connection)
        }
        connection.answer(.nothingHere)
      }
      connections.removeAll { $0 === connection }
    }
    return nil
  }

  private static func failure(_ what: String) -> Failure {
    Failure(description: "\(what): \(String(cString: strerror(errno)))")
  }
}
