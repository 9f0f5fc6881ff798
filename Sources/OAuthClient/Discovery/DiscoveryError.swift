public import HTTPMessages

/// Why an authorization server's metadata could not be had.
public struct DiscoveryError: Error, Sendable {
  /// The kind of fault.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// Not reachable, no metadata there, or metadata that cannot be read.
    case failed = "discovery_failed"
    /// The metadata speaks for another issuer (RFC 8414 section 3.3).
    case issuerMismatch = "discovery_issuer_mismatch"
  }

  /// The kind of fault.
  public let kind: Kind
  /// The last status the server answered with, when it answered.
  public let status: Int?
  /// Why there was no answer, when there was none.
  public let transport: TransportError?
  /// For people and logs.
  public let detail: String

  /// An error of the given parts.
  init(_ kind: Kind, _ detail: String, status: Int? = nil, transport: TransportError? = nil) {
    self.kind = kind
    self.status = status
    self.transport = transport
    self.detail = detail
  }

  /// Whether the same attempt may succeed later without anybody changing anything.
  public var isRetryable: Bool {
    if let transport { return transport.isTransient }
    return status.map { $0 >= 500 || $0 == 429 } ?? false
  }
}

extension DiscoveryError: CustomStringConvertible {
  /// `kind: detail`.
  public var description: String { "\(kind.rawValue): \(detail)" }
}

extension TransportError {
  /// What an error that has this one as its cause says of it: TLS is only mended by who knows what was wrong with it.
  package var cause: String {
    code == .tlsFailure || code == .pinMismatch ? "\(code.rawValue), \(detail)" : code.rawValue
  }

  /// Whether it lies in the state of the network or the peer rather than in who the peer is or what it says.
  public var isTransient: Bool {
    [.networkUnreachable, .serverUnreachable, .timedOut, .descriptorsOut].contains(code)
  }
}
