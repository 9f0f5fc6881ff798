public import HTTPMessages
import OAuthClient

/// Why a fetch has no result. An HTTP status is never one of these: it is a result.
public struct ResourceError: Error, Sendable {
  /// Number and reason; an open set, later features add theirs.
  public struct Code: Sendable, Hashable {
    /// The JSON-RPC error code.
    public let number: Int
    /// The stable symbol callers switch on.
    public let reason: String

    /// A code of that number and symbol.
    public init(number: Int, reason: String) {
      self.number = number
      self.reason = reason
    }

    /// The user has to do something first; with `stop`.
    public static let adviceRequired = Code(number: 1017, reason: "advice_required")
    /// What the user did was not enough, or was not done; with `stop`.
    public static let adviceFailed = Code(number: 1018, reason: "advice_failed")
    /// No live user session.
    public static let notAuthenticated = Code(number: 1001, reason: "not_authenticated")
    /// No live implicit session.
    public static let notImplicitlyAuthenticated = Code(number: 1002, reason: "not_implicitly_authenticated")
    /// No token for the device could be got.
    public static let deviceNotAuthenticated = Code(number: 1003, reason: "device_not_authenticated")
    /// A method other than GET, POST, PUT, PATCH, HEAD and DELETE.
    public static let methodNotAllowed = Code(number: 1004, reason: "method_not_allowed")
    /// A header that is reserved or malformed.
    public static let invalidHeaders = Code(number: 1005, reason: "invalid_headers")
    /// A path or URL that is malformed, hostile, or of a scheme that is not allowed.
    public static let invalidURL = Code(number: 1006, reason: "invalid_url")
    /// A URL outside of the resource's base and additional origins.
    public static let originNotAllowed = Code(number: 1007, reason: "origin_not_allowed")
    /// No route to the host, or no network.
    public static let networkUnreachable = Code(number: 1008, reason: "network_unreachable")
    /// The host does not resolve, refuses, or does not answer in time.
    public static let serverUnreachable = Code(number: 1009, reason: "server_unreachable")
    /// TLS failed.
    public static let tlsFailure = Code(number: 1010, reason: "tls_failure")
    /// The peer is trusted, none of its keys is pinned.
    public static let pinMismatch = Code(number: 1011, reason: "pin_mismatch")
    /// A body beyond the resource's limit.
    public static let responseTooLarge = Code(number: 1012, reason: "response_too_large")
    /// The peer broke HTTP, or redirected too often.
    public static let protocolError = Code(number: 1013, reason: "protocol_error")
    /// A body could not be encrypted, or an answer is not encrypted as it must be.
    public static let payloadEncryptionFailed = Code(number: 1015, reason: "payload_encryption_failed")
    /// No such session, for this peer.
    public static let sessionNotFound = Code(number: 5001, reason: "session_not_found")
    /// The token endpoint refused the session's renewal for a reason that no login mends.
    public static let tokenEndpointError = Code(number: 5003, reason: "token_endpoint_error")
    /// The token endpoint is there and cannot serve now.
    public static let tokenEndpointUnreachable = Code(number: 5004, reason: "token_endpoint_unreachable")
    /// The session store cannot be used now.
    public static let storeUnavailable = Code(number: 5008, reason: "store_unavailable")
    /// A request whose parts do not go together; `path` says which.
    public static let invalidRequest = Code(number: -32_602, reason: "invalid_params")
    /// The resource's limits are reached.
    public static let overloaded = Code(number: -32_009, reason: "overloaded")
    /// The time for the call ran out.
    public static let deadlineExceeded = Code(number: -32_022, reason: "deadline_exceeded")
    /// The caller cancelled.
    public static let requestCancelled = Code(number: -32_800, reason: "request_cancelled")
    /// The sidecar itself does not work as it should; its log says how.
    public static let internalError = Code(number: -32_603, reason: "internal_error")
  }

  /// What another server said that led to the error.
  public struct Upstream: Sendable, Hashable {
    /// Its HTTP status.
    public let status: Int?
    /// Its own error code, or the reason of the fault in it: `invalid_client`, `discovery_issuer_mismatch`.
    public let code: String?
    /// Its own words.
    public let description: String?

    /// The parts that are known.
    public init(status: Int? = nil, code: String? = nil, description: String? = nil) {
      self.status = status
      self.code = code
      self.description = description
    }
  }

  /// Number and reason.
  public let code: Code
  /// JSON Pointer of the offending member of the call's parameters: `/headers/X-Y`.
  public let path: String?
  /// Whether the request to the resource may have had an effect.
  public let outcome: TransportError.Outcome
  /// What another server said.
  public let upstream: Upstream?
  /// Whether the same call may succeed later; nil where the question makes no sense.
  public let retryable: Bool?
  /// How long to wait before that.
  public let retryAfter: Duration?
  /// For people and logs: no token, query, header value or body.
  public let detail: String
  /// Where the fetch stopped, with `advice_required` and `advice_failed`.
  public let stop: AdviceStop?

  /// An error of the given parts.
  public init(
    _ code: Code, _ detail: String, path: String? = nil, outcome: TransportError.Outcome = .notSent,
    upstream: Upstream? = nil, retryable: Bool? = nil, retryAfter: Duration? = nil, stop: AdviceStop? = nil
  ) {
    self.code = code
    self.path = path
    self.outcome = outcome
    self.upstream = upstream
    self.retryable = retryable
    self.retryAfter = retryAfter
    self.detail = detail
    self.stop = stop
  }
}

extension ResourceError: CustomStringConvertible {
  /// `reason: detail`.
  public var description: String { "\(code.reason): \(detail)" }
}
