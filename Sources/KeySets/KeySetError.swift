/// Why there are no keys to verify with: the validator cannot decide, which says nothing about the token.
public struct KeySetError: Error, Sendable {
  /// The kind of fault; the raw value is its symbol on the wire.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// The set cannot be fetched: not reachable, not allowed to be asked, or answered with something else than a set.
    case fetchFailed = "jwks_fetch_failed"
    /// The issuer's metadata, which names the set's place, cannot be had, or names none that is acceptable.
    case discoveryFailed = "discovery_failed"
    /// The metadata speaks for another issuer (RFC 8414 section 3.3).
    case discoveryIssuerMismatch = "discovery_issuer_mismatch"
    /// What came is no key set (RFC 7517 section 5).
    case invalid = "jwks_invalid"
    /// The waiting task was cancelled.
    case cancelled = "request_cancelled"
    /// The caller's deadline passed.
    case deadlineExceeded = "deadline_exceeded"
  }

  /// The kind of fault.
  public let kind: Kind
  /// The status the server answered with, when it answered.
  public let status: Int?
  /// For people and logs: holds no query, field value or body.
  public let detail: String
  /// Whether the same attempt may succeed later without anybody changing anything.
  public let isRetryable: Bool
  /// How long no request is made again for what was asked, whoever calls, or how long the server wants none; nil when
  /// neither is known.
  public let retryAfter: Duration?

  /// An error of the given parts.
  public init(
    _ kind: Kind, _ detail: String, status: Int? = nil, isRetryable: Bool = false, retryAfter: Duration? = nil
  ) {
    self.kind = kind
    self.status = status
    self.detail = detail
    self.isRetryable = isRetryable
    self.retryAfter = retryAfter
  }

  func waiting(_ retryAfter: Duration?) -> KeySetError {
    KeySetError(kind, detail, status: status, isRetryable: isRetryable, retryAfter: retryAfter)
  }
}

extension KeySetError: CustomStringConvertible {
  /// `kind: detail`.
  public var description: String { "\(kind.rawValue): \(detail)" }
}
