public import HTTPMessages

/// Why no token could be got.
public struct TokenError: Error, Sendable {
  /// The kind of fault.
  public enum Kind: Sendable {
    /// The token endpoint said no; `nil` when it did so without words (a bare status).
    case refused(OAuthError?)
    /// The token endpoint is there but cannot serve now: a status of 5xx or 429.
    case unavailable(OAuthError?)
    /// No answer came.
    case unreachable(TransportError)
    /// The answer is no token response: not JSON, no bearer token, a value that cannot stand in a header.
    case malformed
    /// The issuer's metadata could not be had.
    case discovery(DiscoveryError)
    /// The configuration or the metadata leaves no way to ask.
    case notPossible
    /// The waiting task was cancelled.
    case cancelled
    /// The waiter's deadline passed.
    case deadlineExceeded
  }

  /// The kind of fault.
  public let kind: Kind
  /// The status the token endpoint answered with, when it answered.
  public let status: Int?
  /// How long no further request is made, when that is so.
  public let retryAfter: Duration?
  /// For people and logs; quotes nothing but the server's own error code.
  public let detail: String

  /// An error of the given parts.
  public init(_ kind: Kind, _ detail: String, status: Int? = nil, retryAfter: Duration? = nil) {
    self.kind = kind
    self.status = status
    self.retryAfter = retryAfter
    self.detail = detail
  }

  /// What the server said, when it said something.
  public var oauthError: OAuthError? {
    switch kind {
    case .refused(let error), .unavailable(let error): error
    default: nil
    }
  }

  /// The detail, without words of the server's own: it chose them for one user's request, and this is for everybody.
  public var publicDetail: String {
    guard let code = oauthError?.code, !OAuthError.registeredCodes.contains(code) else { return detail }
    return "the server answered\(status.map { " \($0)" } ?? "") an error with a code of its own"
  }

  /// Whether the request may have had an effect; nil where that is not known.
  public var outcome: TransportError.Outcome? {
    switch kind {
    case .refused, .unavailable: .replied
    case .unreachable(let error): error.outcome
    case .malformed: status == nil ? nil : .replied
    case .discovery, .notPossible: .notSent
    case .cancelled, .deadlineExceeded: nil
    }
  }

  /// Whether the issuer has decided about the grant: it may not be sent again.
  package var isAnswer: Bool {
    switch kind {
    case .refused, .malformed: true
    case .unavailable, .unreachable, .discovery, .notPossible, .cancelled, .deadlineExceeded: false
    }
  }

  func waiting(_ retryAfter: Duration) -> TokenError {
    TokenError(kind, detail, status: status, retryAfter: retryAfter)
  }
}

extension TokenError: CustomStringConvertible {
  /// The detail.
  public var description: String { detail }
}
