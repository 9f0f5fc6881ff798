public import HTTPMessages
import PosternJSON
public import PosternSupport

/// The reason why there is no token.
public struct TokenError: Error, Sendable {
  /// The kind of fault.
  public enum Kind: Sendable {
    /// The token endpoint rejected the request; `nil` for a status without an error code.
    case rejected(OAuthError?)
    /// The token endpoint is reachable but unavailable: a code that says so, or a status such as 429 or 503.
    case unavailable(OAuthError?)
    /// There was no answer.
    case unreachable(TransportError)
    /// The answer is no token response: not JSON, no bearer token, a value that cannot be sent in a header.
    case malformed
    /// The issuer's metadata is not available.
    case discovery(DiscoveryError)
    /// The configuration or the metadata allows no request.
    case notPossible
    /// The client's assertion cannot be used: nothing was sent.
    case assertion(ClientAssertionFault)
    /// The waiting task was cancelled.
    case cancelled
    /// The waiter's deadline passed.
    case deadlineExceeded

    /// The code of an error of this kind.
    public var code: ErrorCode {
      switch self {
      case .rejected, .unavailable, .malformed, .assertion: .tokenEndpointError
      case .unreachable: .tokenEndpointUnreachable
      case .discovery(let error): error.kind.code
      case .notPossible: .grantNotSupported
      case .cancelled: .requestCancelled
      case .deadlineExceeded: .deadlineExceeded
      }
    }
  }

  /// The kind of fault.
  public let kind: Kind
  /// The status the token endpoint answered with, when it answered.
  public let status: Int?
  /// How long no further request is made, where that is so.
  public let retryAfter: Duration?
  /// For people and logs; quotes only the server's error code.
  public let detail: String

  /// An error of the given parts.
  public init(_ kind: Kind, _ detail: String, status: Int? = nil, retryAfter: Duration? = nil) {
    self.kind = kind
    self.status = status
    self.retryAfter = retryAfter
    self.detail = detail
  }

  /// The server's error, when it sent one.
  public var oauthError: OAuthError? {
    switch kind {
    case .rejected(let error), .unavailable(let error): error
    default: nil
    }
  }

  /// The detail, without a server's own error code: the server chose it for one user's request, and this text is for
  /// all users.
  public var publicDetail: String {
    guard let code = oauthError?.code, !OAuthError.registeredCodes.contains(code) else { return detail }
    return "the server answered\(status.map { " \($0)" } ?? "") an error with a code of its own"
  }

  /// The failure of the outbound proxy, where that is the reason.
  public var proxyFault: TransportError.ProxyFault? {
    switch kind {
    case .unreachable(let error): error.proxy
    case .discovery(let failure): failure.transport?.proxy
    default: nil
    }
  }

  /// Whether the request may have had an effect; nil where that is unknown.
  public var outcome: TransportError.Outcome? {
    switch kind {
    case .rejected, .unavailable: .replied
    case .unreachable(let error): error.outcome
    case .malformed: status == nil ? nil : .replied
    case .discovery, .notPossible, .assertion: .notSent
    case .cancelled, .deadlineExceeded: nil
    }
  }

  /// Whether the same call may succeed later without anybody changing anything; nil where it was the caller who ended
  /// it. A server that is not trusted, metadata of another issuer and invalid metadata stay as they are.
  public var isRetryable: Bool? {
    switch kind {
    case .unavailable, .deadlineExceeded: true
    // An answer that broke off may have been an accident.
    case .unreachable(let failure): failure.isTransient || failure.code == .protocolError
    case .discovery(let failure): failure.isRetryable
    case .assertion(let fault): fault.isRetryable
    case .rejected, .malformed, .notPossible: false
    case .cancelled: nil
    }
  }

  /// Whether the issuer answered, whatever it answered.
  public var isAnswered: Bool {
    switch kind {
    case .rejected, .unavailable: true
    case .malformed: status != nil
    case .discovery(let failure): failure.status != nil || failure.kind == .issuerMismatch
    case .unreachable, .notPossible, .assertion, .cancelled, .deadlineExceeded: false
    }
  }

  /// The code for callers: the server's own, or that of the client's assertion, which was not sent.
  public var upstreamCode: String? {
    if case .assertion(let fault) = kind { fault.rawValue } else { oauthError?.code }
  }

  /// Whether the issuer has decided about the grant, which then must not be sent another time.
  package var isAnswer: Bool {
    switch kind {
    case .rejected, .malformed: true
    case .unavailable, .unreachable, .discovery, .notPossible, .assertion, .cancelled, .deadlineExceeded: false
    }
  }

  func waiting(_ retryAfter: Duration) -> TokenError {
    TokenError(kind, detail, status: status, retryAfter: retryAfter)
  }
}

extension TokenError: ConciseStringConvertible {
  /// `reason: detail`.
  public var description: String { "\(kind): \(detail)" }
}

/// An OAuth error response (RFC 6749 section 5.2).
public struct OAuthError: Sendable, Hashable {
  /// The registered codes, which are no secrets even where one happens to be a part of one.
  static let registeredCodes: Set<String> = [
    "access_denied", "account_selection_required", "authorization_pending", "consent_required", "expired_token",
    "insufficient_user_authentication", "interaction_required", "invalid_client", "invalid_dpop_proof", "invalid_grant",
    "invalid_request", "invalid_scope", "invalid_target", "login_required", "server_error", "slow_down",
    "temporarily_unavailable", "unauthorized_client", "unsupported_grant_type", "unsupported_token_type",
    "use_dpop_nonce",
  ]

  /// The registered codes that say nothing about the request: the same one may succeed later (RFC 6749 section 4.1.2.1,
  /// RFC 8628 section 3.5).
  static let temporaryCodes: Set<String> = ["server_error", "slow_down", "temporarily_unavailable"]

  /// The `error` code: `invalid_client`.
  public let code: String
  /// `error_description`, when there is one; at most 256 printable characters.
  public let description: String?
  /// The issuer's requirement on the user before it gives a token; nil where the error is about something else.
  public let interaction: RequiredInteraction?

  /// Reads the body of an answer; nil when it is not such an error.
  init?(_ document: JSONValue?) {
    guard let code = document?["error"]?.stringValue, !code.isEmpty, code.utf8.count <= 128,
      code.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F })
    else { return nil }
    self.code = code
    let printable = document?["error_description"]?.stringValue?.unicodeScalars
      .filter { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }
      .prefix(256)
    description = printable.flatMap { $0.isEmpty ? nil : String(String.UnicodeScalarView($0)) }
    interaction = document.flatMap { RequiredInteraction($0, code: code) }
  }
}

extension TokenError.Kind: ConciseStringConvertible {
  /// The reason.
  public var description: String { code.reason }
}

extension OAuthError: CustomDebugStringConvertible, CustomReflectable {
  /// Its code: the server's description may quote the request.
  public var debugDescription: String { Concise.name(code) }
  /// Without children, as those of `ConciseStringConvertible`, which a member of the name `description` rules out.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
