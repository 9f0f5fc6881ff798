import HTTPMessages

/// Why an exchange does not go on over the connection that libcurl has given it.
enum DiscardedConnection {
  /// Bytes had come before the request was sent: they answer something else, or nothing.
  case unreadBytes
  /// The peer had closed it.
  case closed
  /// It was made for another uid.
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
      TransportError(code: .internalError, outcome: outcome, detail: "libcurl offers connections of other users only")
    case .earlyResponse:
      TransportError(
        code: .serverUnreachable, outcome: outcome,
        detail: "the response was sent before the request had arrived: it answers something else")
    }
  }
}
