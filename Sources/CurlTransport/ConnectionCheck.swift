import CPosternCurl
import CPosternTLS
import Glibc
import HTTPMessages
import PosternSupport

/// The check of the connection before a request goes out over it.
///
/// libcurl takes up a kept connection although unread bytes wait on it (7.88 and 8.23 were tried), and shares
/// connections between all exchanges of an origin. Here a connection with anything to read, of another use, or closed,
/// ends with the attempt, before a byte of the request has left.
///
/// Used on the loop's thread alone: its references and numbers are not checked for exclusive access.
final class ConnectionCheck {
  /// How often libcurl itself may retry a request over another connection, when it loses one or a server rejects
  /// a stream.
  private static let maxAttempts = 3

  private let handle: EasyHandle
  private let opener: SocketOpener
  private let reception: ResponseReception
  private let connections: ConnectionCount
  /// Why the request did not go out over its connection.
  @exclusivity(unchecked) private(set) var discarded: DiscardedConnection?
  /// How often the request was about to go.
  @exclusivity(unchecked) private var attempts = 0
  /// The connection that the request was last about to go over.
  @exclusivity(unchecked) private var connection: ConnectionCount.Connection?
  /// How much libcurl had sent (to a proxy, say) when the request was about to be sent; nil before that.
  @exclusivity(unchecked) private var bytesBeforeRequest: Int?

  init(_ handle: EasyHandle, _ opener: SocketOpener, _ reception: ResponseReception, _ connections: ConnectionCount) {
    self.handle = handle
    self.opener = opener
    self.reception = reception
    self.connections = connections
  }

  /// After an exchange.
  func reset() {
    discarded = nil
    attempts = 0
    bytesBeforeRequest = nil
    leaveConnection()
  }

  /// The exchange has no use for its connection any more.
  private func leaveConnection() {
    if let connection { connections.leave(connection) }
    connection = nil
  }

  /// Whether the request was let out over a connection.
  var hasPassed: Bool { bytesBeforeRequest != nil }

  /// Whether bytes of the request itself have left.
  var hasSent: Bool {
    guard let bytesBeforeRequest else { return false }
    return handle.number(CURLINFO_REQUEST_SIZE) > bytesBeforeRequest
  }

  // MARK: - libcurl's callbacks

  func attach(in settings: inout Settings) {
    settings.set(CURLOPT_PREREQDATA, pointer: Unmanaged.passUnretained(self).toOpaque())
    settings.note(
      postern_curl_set_before_request(settings.easy) { pointer, remote, local, remotePort, localPort in
        guard let pointer else { return CURL_PREREQFUNC_ABORT }
        let path = ConnectionPath(
          remoteAddress: remote.map { String(cString: $0) } ?? "", remotePort: remotePort,
          localAddress: local.map { String(cString: $0) } ?? "", localPort: localPort)
        let check = Unmanaged<ConnectionCheck>.fromOpaque(pointer).takeUnretainedValue()
        return check.mayRequest(at: path) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
      }, CURLOPT_PREREQFUNCTION)
    connections.attach(to: settings.easy, in: &settings)
  }

  /// The connection is established and the request is about to be sent, possibly for the second time.
  private func mayRequest(at path: ConnectionPath) -> Bool {
    handle.way.open()
    let opened = opener.takeSockets()
    let isNew = !opened.isEmpty
    leaveConnection()
    if isNew, let exchange = reception.exchange {
      connection = connections.add(opened, at: path, for: exchange.use, to: exchange.request.url.origin)
    } else {
      connection = connections.enter(path)
    }
    guard handle.isOnOwnConnection else {
      reception.reject(.tlsFailure, "the connection was made for another trust or identity")
      return false
    }
    attempts += 1
    if hasSent, attempts > Self.maxAttempts || reception.exchange?.isIdempotent != true { return false }
    // Frames carry the number of the exchange they belong to.
    if !handle.speaksHTTP2 {
      discarded = connection.map { discarding($0, isNew: isNew) } ?? (isNew ? nil : .foreign)
      guard discarded == nil else { return false }
      reception.requestMark = connection.flatMap { RequestMark(nextOn: $0.descriptor) }
    } else if let connection, connection.use != reception.exchange?.use {
      discarded = .foreign
      return false
    }
    if bytesBeforeRequest == nil { bytesBeforeRequest = handle.number(CURLINFO_REQUEST_SIZE) }
    return true
  }

  /// Why the request must not go over `connection`; nil when it may.
  private func discarding(
    _ connection: ConnectionCount.Connection, isNew: Bool
  ) -> DiscardedConnection? {
    guard connection.use == reception.exchange?.use else { return .foreign }
    if isNew {
      // TLS, to a proxy, too, sends its session tickets unasked. Whether the peer has closed, the request finds out.
      guard handle.shape?.isSecure != true, handle.shape?.proxy?.isSecure != true,
        Self.condition(of: connection.descriptor) == .unreadBytes
      else { return nil }
      return .unreadBytes
    }
    // A ticket that comes late looks like anything else: it costs the connection.
    if let tls = handle.tls, ctls_has_unread(tls) == 1 { return .unreadBytes }
    return Self.condition(of: connection.descriptor)
  }

  /// The fault of an idle connection; nil when there is nothing to read.
  private static func condition(of descriptor: Int32) -> DiscardedConnection? {
    var byte: UInt8 = 0
    while true {
      let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
      if count > 0 { return .unreadBytes }
      if count == 0 { return .closed }
      if errno == EINTR { continue }
      return errno == EAGAIN || errno == EWOULDBLOCK ? nil : .closed
    }
  }
}

/// Both ends of a TCP connection, in libcurl's words: no two open connections have the same.
struct ConnectionPath: Hashable {
  let remoteAddress: String
  let remotePort: Int32
  let localAddress: String
  let localPort: Int32

  /// Feeds what differs most: of the connections to one server only the local port does.
  func hash(into hasher: inout Hasher) {
    hasher.combine(UInt64(UInt32(bitPattern: remotePort)) << 32 | UInt64(UInt32(bitPattern: localPort)))
  }
}
