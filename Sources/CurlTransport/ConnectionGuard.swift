import CPosternTLS
import HTTPMessages

/// Sets up the TLS of new connections of one transfer; connections keep what they need of it.
final class ConnectionGuard {
  let pointer: OpaquePointer

  /// Nil when there is no memory.
  ///
  /// - Parameter authorities: whom connections trust; nil leaves that to libcurl.
  init?(_ trust: ConnectionTrust, authorities: LoadedAuthorities?) {
    let mark = trust.mark ?? [UInt8](repeating: 0, count: Int(CTLS_DIGEST_SIZE))
    let pins = trust.pins?.hashes.flatMap { $0 } ?? []
    let pointer = ctls_guard_create(
      authorities?.pointer, trust.identity?.pointer, pins, trust.pins?.hashes.count ?? 0,
      trust.pins?.scope == .leaf ? 1 : 0, mark)
    guard let pointer else { return nil }
    self.pointer = pointer
  }

  /// The guard of connections to a proxy; nil when there is no memory.
  init?(mark: [UInt8], authorities: LoadedAuthorities?) {
    guard let pointer = ctls_guard_create(authorities?.pointer, nil, [], 0, 0, mark) else { return nil }
    self.pointer = pointer
  }

  deinit { ctls_guard_free(pointer) }

  /// The keys of a server that had none of the pins; empty when none was met.
  var seen: String { String(cString: ctls_guard_seen(pointer)) }

  /// The fault of a server's certificates or its stapled OCSP response, or of the absence of one; empty when
  /// nothing is.
  var problem: String { String(cString: ctls_guard_problem(pointer)) }

  /// Before the next exchange.
  func forget() { ctls_guard_forget(pointer) }

  /// Sets up a connection's context; false when it must not be made.
  func attach(to context: UnsafeMutableRawPointer) -> Bool { ctls_guard_attach(pointer, context) == 1 }

  /// Whether `connection` was made for the same trust as `guardian` stands for.
  static func made(_ connection: UnsafeMutableRawPointer?, as guardian: ConnectionGuard?) -> Bool {
    ctls_guard_made(guardian?.pointer, connection) == 1
  }
}

/// Why an exchange does not go on over the connection that libcurl has given it.
enum DiscardedConnection {
  /// Bytes had come before the request was sent: they answer something else, or nothing.
  case unreadBytes
  /// The peer had closed it.
  case closed
  /// It was made for another use.
  case foreign
  /// The response was sent before a byte of the request had arrived.
  case earlyResponse

  /// The error when no other connection can be tried.
  func error(outcome: TransportError.Outcome) -> TransportError {
    switch self {
    case .unreadBytes:
      TransportError(code: .protocolError, outcome: outcome, detail: "the server sends before there is a request")
    case .closed:
      TransportError(code: .serverUnreachable, outcome: outcome, detail: "the server closes each connection")
    case .foreign:
      TransportError(code: .internalError, outcome: outcome, detail: "libcurl offers connections of other calls only")
    case .earlyResponse:
      TransportError(
        code: .serverUnreachable, outcome: outcome,
        detail: "the response was sent before the request had arrived: it answers something else")
    }
  }
}
