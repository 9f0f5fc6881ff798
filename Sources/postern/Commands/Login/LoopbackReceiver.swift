import Glibc
import PosternSupport

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

    /// Sends the page and ends the connection.
    func answer(_ page: LoginPage) { connection.answer(page) }
  }

  /// Browsers open connections ahead of need, and any page may open some: beyond these the oldest makes way.
  private static let maxConnections = 16

  private let listener: Int32
  private let redirect: LoopbackRedirect
  private let clock = SystemClock()
  private var connections: [LoopbackConnection] = []
  /// Another user has come with a callback.
  private var hasForeigners = false
  /// The port the system assigned, or the requested one.
  let port: UInt16

  /// Listens where `redirect` leads to.
  init(at redirect: LoopbackRedirect) throws(Failure) {
    guard let listening = LoopbackListener.open(redirect.address, port: redirect.port) else {
      throw Self.failure("cannot listen on \(redirect.host):\(redirect.port)")
    }
    listener = listening.descriptor
    self.redirect = redirect
    port = listening.port
  }

  deinit { close(listener) }

  /// Where the issuer is to send the browser.
  var redirectURI: String { "\(origin)\(redirect.path)" }

  private var origin: String { "http://\(redirect.host):\(port)" }

  /// Waits for the next request for the callback; every other request gets a 404. A connection that sends nothing does
  /// not delay the others.
  mutating func nextVisit(by deadline: Deadline) throws(Failure) -> Visit {
    while true {
      let left = deadline.remaining(on: clock).map(\.wholeMilliseconds) ?? 0
      guard left > 0 else { throw Failure(description: "the browser did not come back in time") }
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
        if target.hasSameBytes(as: redirect.path) || target.startsWithBytes(of: "\(redirect.path)?") {
          connections.removeAll { $0 === connection }
          guard LoopbackPeer.isOwn(connection.descriptor) else {
            connection.answer(.notThisLogin)
            if !hasForeigners { FailureNote.print("a callback of another user of this machine came; still waiting") }
            hasForeigners = true
            continue
          }
          return Visit(url: origin + target, connection: connection)
        }
        connection.answer(.nothingHere)
      }
      connections.removeAll { $0 === connection }
    }
    return nil
  }

  private static func failure(_ what: String) -> Failure {
    Failure(description: "\(what): \(SystemError.text())")
  }
}
