import CPosternCurl
import CPosternTLS
import Glibc
import HTTPMessages
import PosternSupport

/// The look at the connection before a request goes out over it.
///
/// libcurl takes up a kept connection although unread bytes wait on it (7.88 and 8.23 were tried), and shares
/// connections between all exchanges of an origin. Here a connection with anything to read, of another uid, or closed,
/// ends with the attempt, before a byte of the request has left.
extension Transfer {
  /// How often libcurl itself may retry a request over another connection, when it loses one or a server rejects
  /// a stream.
  private static let maxAttempts = 3

  /// The connection is established and the request is about to be sent, possibly for the second time.
  static func beforeRequest(_ pointer: UnsafeMutableRawPointer?, at path: ConnectionPath) -> Int32 {
    guard let pointer else { return CURL_PREREQFUNC_ABORT }
    let transfer = Unmanaged<Transfer>.fromOpaque(pointer).takeUnretainedValue()
    return transfer.mayRequest(at: path) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
  }

  private func mayRequest(at path: ConnectionPath) -> Bool {
    let isNew = !openedSockets.isEmpty
    let connection = isNew ? connections.add(openedSockets, at: path, uid: uid) : connections[path]
    openedSockets = []
    guard isOnOwnConnection else {
      _ = object(.tlsFailure, "the connection was made for another trust or identity")
      return false
    }
    attempts += 1
    if hasSent, attempts > Self.maxAttempts || !isIdempotent { return false }
    // Frames carry the number of the exchange they belong to.
    if !speaksHTTP2 {
      discarded = connection.map { discarding($0, isNew: isNew) } ?? (isNew ? nil : .foreign)
      guard discarded == nil else { return false }
      requestMark = connection.flatMap { RequestMark(nextOn: $0.descriptor) }
    } else if let connection, connection.uid != uid {
      discarded = .foreign
      return false
    }
    if bytesBeforeRequest == nil { bytesBeforeRequest = number(CURLINFO_REQUEST_SIZE) }
    return true
  }

  /// Why the request must not go over `connection`; nil when it may.
  private func discarding(
    _ connection: ConnectionCount.Connection, isNew: Bool
  ) -> DiscardedConnection? {
    guard connection.uid == uid else { return .foreign }
    if isNew {
      // TLS sends its session tickets unasked. Whether the peer has closed already, the request finds out.
      guard shape?.isSecure != true, Self.condition(of: connection.descriptor) == .unreadBytes else { return nil }
      return .unreadBytes
    }
    // A ticket that comes late looks like anything else: it costs the connection.
    if let tls, ctls_has_unread(tls) == 1 { return .unreadBytes }
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

  /// OpenSSL's SSL of the connection; nil without TLS.
  private var tls: UnsafeMutableRawPointer? { shape?.isSecure == true ? postern_curl_get_tls(easy) : nil }

  var speaksHTTP2: Bool { tls.map { ctls_speaks_http2($0) == 1 } ?? false }

  /// Whether the request may be sent twice (RFC 9110 section 9.2.2).
  var isIdempotent: Bool {
    switch exchange?.request.method ?? "" {
    case "GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE": true
    default: false
    }
  }

  /// The first line of what may be the response: false when it was sent before the request had arrived.
  func acceptsAnswer() -> Bool {
    guard let mark = requestMark else { return true }
    requestMark = nil
    guard !mark.hasArrived else { return true }
    discarded = .earlyResponse
    return false
  }

  /// No further exchange goes over the connection. libcurl closes a connection of HTTP/2 on its own only when the
  /// protocol was broken.
  func forbidReuse() { _ = postern_curl_set_long(easy, CURLOPT_FORBID_REUSE, 1) }
}
