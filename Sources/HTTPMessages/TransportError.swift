public import PosternSupport

/// The reason why there is no response. Equality compares `code` and `outcome` only.
public struct TransportError: Error, Sendable {
  /// A stable symbol for the cause.
  public enum Code: String, Sendable, Hashable, CaseIterable {
    /// No route to the host, or no network at all.
    case networkUnreachable = "network_unreachable"
    /// The name does not resolve, or the connection is reset or not established in time (also `ECONNREFUSED`).
    case serverUnreachable = "server_unreachable"
    /// This process has no file descriptor left to connect with.
    case descriptorsOut = "descriptors_out"
    /// The TLS handshake or the verification of the peer failed.
    case tlsFailure = "tls_failure"
    /// The certificate chain is valid but has no pinned key.
    case pinMismatch = "pin_mismatch"
    /// The body is larger than `TransferOptions.maxBodyBytes`, or the fields are larger than the transport accepts.
    case responseTooLarge = "response_too_large"
    /// The server violated HTTP: bad framing, a truncated body, an undecodable content coding.
    case protocolError = "protocol_error"
    /// The URL's scheme is not allowed or the URL is not usable.
    case invalidURL = "invalid_url"
    /// The host is a link-local address, or resolves to one, and that is not allowed.
    case addressNotAllowed = "address_not_allowed"
    /// The transport failed; neither the request nor the server is at fault.
    case internalError = "internal_error"
    /// The deadline passed.
    case timedOut = "deadline_exceeded"
    /// The calling task was cancelled, or the transport closed.
    case cancelled = "request_cancelled"

    /// The code of an error that has this cause.
    public var errorCode: ErrorCode {
      switch self {
      case .networkUnreachable: .networkUnreachable
      case .serverUnreachable: .serverUnreachable
      case .tlsFailure: .tlsFailure
      case .pinMismatch: .pinMismatch
      case .responseTooLarge: .responseTooLarge
      case .invalidURL: .invalidURL
      case .addressNotAllowed: .originNotAllowed
      case .timedOut: .deadlineExceeded
      case .cancelled: .requestCancelled
      case .internalError: .internalError
      case .descriptorsOut: .overloaded
      case .protocolError: .protocolError
      }
    }
  }

  /// Whether the request may have had an effect.
  public typealias Outcome = RequestOutcome

  /// The limit that a code is about, where several limits have that code.
  public enum Limit: Sendable, Hashable {
    /// `TransferOptions.maxBodyBytes`.
    case bodySize
    /// The silence in a streamed body (`StreamBounds`).
    case silence
  }

  /// The failure of the outbound proxy, not of the server behind it.
  public struct ProxyFault: Sendable, Hashable, ConciseStringConvertible {
    /// The status that the proxy answered with; nil: it did not answer.
    public let status: Int?
    /// Whether the same request may succeed later without anybody changing anything.
    public let isTransient: Bool

    /// A fault of the given parts.
    public init(status: Int?, isTransient: Bool) {
      self.status = status
      self.isTransient = isTransient
    }

    /// The status.
    public var description: String { "the proxy\(status.map { " answered \($0)" } ?? " did not answer")" }
  }

  /// The cause.
  public let code: Code
  /// Whether the request may have had an effect.
  public let outcome: Outcome
  /// For people and logs: never holds header values, bodies or query strings.
  public let detail: String
  /// The part that the outbound proxy has in it; nil: the error is not the proxy's.
  public let proxy: ProxyFault?
  /// The limit that was exceeded, with `responseTooLarge` and `timedOut`; nil: another one.
  public let limit: Limit?

  /// An error of the given parts.
  public init(code: Code, outcome: Outcome, detail: String, proxy: ProxyFault? = nil, limit: Limit? = nil) {
    self.code = code
    self.outcome = outcome
    self.detail = detail
    self.proxy = proxy
    self.limit = limit
  }
}

extension TransportError: Equatable {
  /// Same code and same outcome.
  public static func == (left: TransportError, right: TransportError) -> Bool {
    left.code == right.code && left.outcome == right.outcome
  }
}

extension TransportError: ConciseStringConvertible {
  /// `code (outcome): detail`.
  public var description: String { "\(code.rawValue) (\(outcome.rawValue)): \(detail)" }
}
