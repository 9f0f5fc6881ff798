import Glibc
package import PosternSupport

/// Takes the requests by which a browser comes back from a login, on a loopback address (RFC 8252 section 7.3).
package struct LoopbackReceiver: ~Copyable {
  /// Why there is no callback.
  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  /// A request for the callback, whose connection waits for its page.
  package struct Visit {
    /// The whole URL, as the issuer chose it.
    package let url: String
    fileprivate let connection: LoopbackConnection

    /// Sends the page and ends the connection.
    package func answer(_ page: LoginPage) { connection.answer(page) }
  }

  /// Browsers open connections ahead of need, and any page may open some: beyond these the oldest makes way.
  private static let maxConnections = 16

  /// The longest wait for the next event, in milliseconds.
  private static let longestWait: Int64 = 500

  private let listener: Int32
  private let redirect: LoopbackRedirect
  private let clock = SystemClock()
  private var connections: [LoopbackConnection] = []
  /// Takes a note for the user, once.
  private var note: (@Sendable (String) -> Void)?
  /// The port the system assigned, or the requested one.
  package let port: UInt16

  /// Listens where `redirect` leads to. `note` takes what the user should know meanwhile.
  package init(
    at redirect: LoopbackRedirect, note: @escaping @Sendable (String) -> Void
  ) throws(Failure) {
    guard let listening = LoopbackListener.open(redirect.address, port: redirect.port) else {
      throw Self.failure("cannot listen on \(redirect.host):\(redirect.port)")
    }
    listener = listening.descriptor
    self.redirect = redirect
    self.note = note
    port = listening.port
  }

  deinit { close(listener) }

  /// Where the issuer is to send the browser.
  package var redirectURI: String { redirect.uri(port: port) }

  private var origin: String { "http://\(redirect.host):\(port)" }

  /// Waits for the next request for the callback; every other request gets a 404. A connection that sends nothing does
  /// not delay the others. The wait ends early when `isCancelled`, which is looked at twice a second.
  package mutating func nextVisit(
    by deadline: Deadline, isCancelled: () -> Bool = { false }
  ) throws(Failure) -> Visit {
    while true {
      let left = min(deadline.remaining(on: clock).map(\.wholeMilliseconds) ?? 0, Self.longestWait)
      guard left > 0 else { throw Failure(description: "the browser did not come back in time") }
      guard !isCancelled() else { throw Failure(description: "cancelled") }
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
        if redirect.isCallback(target) {
          connections.removeAll { $0 === connection }
          guard LoopbackPeer.isOwn(connection.descriptor) else {
            connection.answer(.notThisLogin)
            note.take()?("a callback of another user of this machine came; still waiting")
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
