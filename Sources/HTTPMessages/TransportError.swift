/// Why no response came back. Open set of codes; equality looks at `code` and `outcome` only, never at prose.
public struct TransportError: Error, Sendable {
  /// What went wrong, in the words of `fetchResource`'s errors.
  public struct Code: Sendable, Hashable, RawRepresentable {
    /// The stable symbol.
    public let rawValue: String
    /// A code of that symbol.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// No route to the host, or no network at all.
    public static let networkUnreachable = Code(rawValue: "network_unreachable")
    /// The name does not resolve, the connection is refused, reset or not established in time.
    public static let serverUnreachable = Code(rawValue: "server_unreachable")
    /// This process has no file descriptor left to connect with.
    public static let descriptorsOut = Code(rawValue: "descriptors_out")
    /// The TLS handshake or the verification of the peer failed.
    public static let tlsFailure = Code(rawValue: "tls_failure")
    /// The peer is trusted but none of its keys is pinned.
    public static let pinMismatch = Code(rawValue: "pin_mismatch")
    /// The body is larger than `TransferOptions.maxBodyBytes`, or the fields are larger than the transport accepts.
    public static let responseTooLarge = Code(rawValue: "response_too_large")
    /// The peer broke HTTP: bad framing, a body cut short, an undecodable content coding.
    public static let protocolError = Code(rawValue: "protocol_error")
    /// The URL's scheme is not allowed or the URL is not usable.
    public static let invalidURL = Code(rawValue: "invalid_url")
    /// The host is a link-local address, or its name leads to one, and that is not allowed.
    public static let addressNotAllowed = Code(rawValue: "address_not_allowed")
    /// The transport itself does not work; neither the request nor the server is at fault.
    public static let internalError = Code(rawValue: "internal_error")
    /// The deadline passed.
    public static let timedOut = Code(rawValue: "deadline_exceeded")
    /// The calling task was cancelled, or the transport closed.
    public static let cancelled = Code(rawValue: "request_cancelled")
  }

  /// Whether the request may have had an effect.
  public enum Outcome: String, Sendable, Hashable, CaseIterable {
    /// No byte of it left: safe to repeat.
    case notSent = "not_sent"
    /// Bytes left, no complete response head came.
    case sentNoReply = "sent_no_reply"
    /// A response had begun.
    case replied = "replied"
  }

  /// What went wrong.
  public let code: Code
  /// Whether the request may have had an effect.
  public let outcome: Outcome
  /// For people and logs: never holds header values, bodies or query strings.
  public let detail: String

  /// An error of the given parts.
  public init(code: Code, outcome: Outcome, detail: String) {
    self.code = code
    self.outcome = outcome
    self.detail = detail
  }
}

extension TransportError: Equatable {
  /// Same code and same outcome.
  public static func == (left: TransportError, right: TransportError) -> Bool {
    left.code == right.code && left.outcome == right.outcome
  }
}

extension TransportError: CustomStringConvertible {
  /// `code (outcome): detail`.
  public var description: String { "\(code.rawValue) (\(outcome.rawValue)): \(detail)" }
}
