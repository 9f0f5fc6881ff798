public import HTTPMessages
public import OAuthClient
public import PosternSupport

/// Why a fetch has no result. An HTTP status is never one of these: it is a result.
public struct ResourceError: Error, Sendable {
  /// Why there is no result.
  public enum Code: String, Sendable, Hashable, CaseIterable {
    /// The user has to do something first; with `stop`.
    case adviceRequired = "advice_required"
    /// The user has not satisfied the advice, or not enough of it; with `stop`.
    case adviceFailed = "advice_failed"
    /// No live user session.
    case notAuthenticated = "not_authenticated"
    /// No live implicit session.
    case notImplicitlyAuthenticated = "not_implicitly_authenticated"
    /// No client-credentials token could be obtained.
    case deviceNotAuthenticated = "device_not_authenticated"
    /// The issuer gives no token on behalf of the inbound token's user before that user has done something; with
    /// `interaction`.
    case interactionRequired = "interaction_required"
    /// A method that is not a token, or that is never sent: CONNECT, TRACE, TRACK.
    case methodNotAllowed = "method_not_allowed"
    /// A header that is reserved or malformed.
    case invalidHeaders = "invalid_headers"
    /// A path or URL that is malformed, hostile, or of a scheme that is not allowed.
    case invalidURL = "invalid_url"
    /// A URL outside of the resource's base and additional origins.
    case originNotAllowed = "origin_not_allowed"
    /// No route to the host, or no network.
    case networkUnreachable = "network_unreachable"
    /// The host does not resolve, rejects the connection, or does not answer in time.
    case serverUnreachable = "server_unreachable"
    /// TLS failed.
    case tlsFailure = "tls_failure"
    /// The peer is trusted, none of its keys is pinned.
    case pinMismatch = "pin_mismatch"
    /// A body beyond the resource's limit.
    case responseTooLarge = "response_too_large"
    /// The peer broke HTTP, or redirected too often.
    case protocolError = "protocol_error"
    /// A body could not be encrypted, or an answer is not encrypted as it must be.
    case payloadEncryptionFailed = "payload_encryption_failed"
    /// No such session, for this peer.
    case sessionNotFound = "session_not_found"
    /// The token endpoint answered the session's refresh with an error that no login resolves.
    case tokenEndpointError = "token_endpoint_error"
    /// The token endpoint does not answer.
    case tokenEndpointUnreachable = "token_endpoint_unreachable"
    /// The session store cannot be used now.
    case storeUnavailable = "store_unavailable"
    /// A request whose parts do not go together; `path` names the part.
    case invalidRequest = "invalid_params"
    /// The resource's limits are reached.
    case overloaded = "overloaded"
    /// The call has timed out.
    case deadlineExceeded = "deadline_exceeded"
    /// The caller cancelled.
    case requestCancelled = "request_cancelled"
    /// The sidecar itself does not work as it should; its log has the reason.
    case internalError = "internal_error"

    /// The stable symbol to switch on, as callers of the sidecar see it.
    public var reason: String { rawValue }
  }

  /// The response of another server that led to the error.
  public struct Upstream: Sendable, Hashable {
    /// Its HTTP status.
    public let status: Int?
    /// Its own error code, or the reason of the fault in it: `invalid_client`, `discovery_issuer_mismatch`.
    public let code: String?
    /// Its own description.
    public let description: String?

    /// The parts that are known.
    public init(status: Int? = nil, code: String? = nil, description: String? = nil) {
      self.status = status
      self.code = code
      self.description = description
    }
  }

  /// Why there is no result.
  public let code: Code
  /// The parameter of the call that is not valid.
  public let path: ParameterPath?
  /// Whether the request to the resource may have had an effect.
  public let outcome: TransportError.Outcome
  /// The response of another server.
  public let upstream: Upstream?
  /// Whether the same call may succeed later; nil where the question makes no sense.
  public let retryable: Bool?
  /// How long to wait before that.
  public let retryAfter: Duration?
  /// For people and logs: no token, query, header value or body.
  public let detail: String
  /// Where the fetch stopped, with `advice_required` and `advice_failed`.
  public let stop: AdviceStop?
  /// The issuer's requirement on the user, with `interaction_required`.
  public let interaction: RequiredInteraction?
  /// The issuer that gave no token, by its configured name; nil where the error is about something else.
  public internal(set) var issuer: String?
  /// The failure of the outbound proxy, where that is the reason.
  public internal(set) var proxyFault: TransportError.ProxyFault?

  /// An error of the given parts.
  public init(
    _ code: Code, _ detail: String, path: ParameterPath? = nil, outcome: TransportError.Outcome = .notSent,
    upstream: Upstream? = nil, retryable: Bool? = nil, retryAfter: Duration? = nil, stop: AdviceStop? = nil,
    interaction: RequiredInteraction? = nil
  ) {
    self.code = code
    self.path = path
    self.outcome = outcome
    self.upstream = upstream
    self.retryable = retryable
    self.retryAfter = retryAfter
    self.detail = detail
    self.stop = stop
    self.interaction = interaction
  }

  /// The same, of a fetch whose request was answered.
  var answered: ResourceError {
    var error = ResourceError(
      code, detail, path: path, outcome: .replied, upstream: upstream, retryable: retryable, retryAfter: retryAfter,
      stop: stop, interaction: interaction)
    error.issuer = issuer
    error.proxyFault = proxyFault
    return error
  }
}

extension ResourceError: ConciseStringConvertible {
  /// `reason: detail`.
  public var description: String { "\(code.reason): \(detail)" }
}

extension ResourceError.Upstream: CustomDebugStringConvertible, CustomReflectable {
  /// Status and code: the server's description may quote the request.
  public var debugDescription: String {
    Concise.text("another server's answer", status.map { "status \($0)" }, code.map(Concise.name))
  }
  /// Without children, as those of `ConciseStringConvertible`, which a member of the name `description` rules out.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
