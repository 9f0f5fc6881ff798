import HTTPMessages
public import OAuthClient
public import PosternSupport

/// The reason why there are no keys to verify with: no verdict about the token is possible.
public struct KeySetError: Error, Sendable {
  /// The kind of fault.
  public enum Kind: Sendable, Hashable, CaseIterable {
    /// The set cannot be fetched: not reachable, forbidden by the configuration, or answered with something else than a
    /// set.
    case fetchFailed
    /// The issuer's metadata is not available, or has no acceptable URL of the set.
    case discoveryFailed
    /// The metadata is that of another issuer (RFC 8414 section 3.3).
    case discoveryIssuerMismatch
    /// The answer is no key set (RFC 7517 section 5).
    case invalid
    /// The waiting task was cancelled.
    case cancelled
    /// The caller's deadline passed.
    case deadlineExceeded

    /// The code of an error of this kind.
    public var code: ErrorCode {
      switch self {
      case .fetchFailed: .jwksFetchFailed
      case .discoveryFailed: .discoveryFailed
      case .discoveryIssuerMismatch: .discoveryIssuerMismatch
      case .invalid: .jwksInvalid
      case .cancelled: .requestCancelled
      case .deadlineExceeded: .deadlineExceeded
      }
    }
  }

  /// The kind of fault.
  public let kind: Kind
  /// The status of the server's answer, when it answered.
  public let status: Int?
  /// For people and logs: has no query, field value or body.
  public let detail: String
  /// Whether the same request may succeed later without a change of the configuration.
  public let isRetryable: Bool
  /// How long no further request for the set is made, for any caller, or how long the server wants none; nil when
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

extension KeySetError: ConciseStringConvertible {
  /// `reason: detail`.
  public var description: String { "\(kind.code.reason): \(detail)" }
}

extension KeySetError {
  /// The error for a caller whose wait for a shared request ended.
  init(endOf wait: EndedWait) {
    switch wait {
    case .cancelled: self.init(.cancelled, "the caller was cancelled")
    case .deadlineExceeded: self.init(.deadlineExceeded, "the deadline passed before there was a key set")
    }
  }

  /// The error of a key set whose issuer's metadata is not available.
  init(discovery error: TokenError) {
    guard case .discovery(let failure) = error.kind else {
      self.init(.discoveryFailed, "the issuer's metadata was not there in time", isRetryable: true)
      return
    }
    self.init(
      failure.kind == .issuerMismatch ? .discoveryIssuerMismatch : .discoveryFailed, failure.detail,
      status: failure.status ?? failure.transport?.proxy?.status, isRetryable: failure.isRetryable)
  }
}

/// Something that happened to a published key set. It has names, codes and public thumbprints.
public enum KeySetEvent: Sendable {
  /// A set was fetched, or confirmed by the server as unchanged.
  case loaded(source: KeySetName, keyCount: Int)
  /// A request failed; with `servesOlderSet` the current set remains in use.
  case failed(source: KeySetName, error: KeySetError, servesOlderSet: Bool)
  /// The published keys have changed: the RFC 7638 thumbprints of new and removed ones, sorted.
  case rotated(source: KeySetName, added: [String], removed: [String])
}

/// The port through which key sets report events.
///
/// Called on the task that does the work: be quick, do not block, do not call back into the engine.
public protocol KeySetObserver: Sendable {
  /// Takes an event, which happened for that call.
  func observe(_ event: KeySetEvent, in scope: CallScope)
}
