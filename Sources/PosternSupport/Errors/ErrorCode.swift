/// The code of an error: a number, and a stable reason to switch on. Engine and wire have the same codes.
///
/// The set is open: these are all that Postern has, by area, and a program may add its own.
public struct ErrorCode: Sendable, Hashable {
  /// The number on the wire, and of an `NSError`.
  public let number: Int
  /// The symbol callers switch on, `data.reason` on the wire.
  public let reason: String
  /// The meaning, for the OpenRPC document and as the default message.
  public let summary: String

  /// A code; numbers and reasons are contracts (wire.md section 2).
  public init(_ number: Int, _ reason: String, _ summary: String) {
    self.number = number
    self.reason = reason
    self.summary = summary
  }
}

extension ErrorCode: ConciseStringConvertible {
  /// `not_authenticated (1001)`.
  public var description: String { "\(reason) (\(number))" }
}

/// The errors that every method may have (wire.md section 2).
extension ErrorCode {
  /// Bytes that are not JSON, or not one of the framings.
  public static let parseError = ErrorCode(-32700, "parse_error", "Not JSON, or not one of the framings")
  /// JSON that is not a JSON-RPC request.
  public static let invalidRequest = ErrorCode(-32600, "invalid_request", "Not a JSON-RPC request")
  /// The method does not exist.
  public static let methodNotFound = ErrorCode(-32601, "method_not_found", "No such method")
  /// A parameter is not valid, or parts of a call do not go together; `path` names the part.
  public static let invalidParams = ErrorCode(-32602, "invalid_params", "The params are invalid at path")
  /// A bug; details only in the log, found by `traceId`.
  public static let internalError = ErrorCode(-32603, "internal_error", "A bug; the log has more under traceId")
  /// The caller cancelled.
  public static let requestCancelled = ErrorCode(-32800, "request_cancelled", "Cancelled by the caller")
  /// The message is over the size limit.
  public static let messageTooLarge = ErrorCode(-32007, "message_too_large", "The message is over the size limit")
  /// Limits of calls in flight, rate or connections are reached, or those of a resource.
  public static let overloaded = ErrorCode(
    -32009, "overloaded", "In-flight, rate or connection limits reached; try again after retryAfterMs")
  /// The batch has too many members.
  public static let batchTooLarge = ErrorCode(-32010, "batch_too_large", "The batch has too many members")
  /// The message has too many JSON values.
  public static let messageTooComplex = ErrorCode(
    -32025, "message_too_complex", "The message has more JSON values than the limit")
  /// This peer may not do this.
  public static let peerForbidden = ErrorCode(
    -32020, "peer_forbidden", "This peer may not call this method, or use this resource or session")
  /// Draining: no new requests.
  public static let shuttingDown = ErrorCode(-32021, "shutting_down", "Draining: no new requests")
  /// The call has timed out.
  public static let deadlineExceeded = ErrorCode(-32022, "deadline_exceeded", "timeoutMs expired")
  /// The configuration file has problems; `data.problems` lists them.
  public static let configurationInvalid = ErrorCode(
    -32023, "configuration_invalid", "The configuration file has problems; the running configuration stays")
  /// A record that is required cannot be written.
  public static let auditUnavailable = ErrorCode(
    -32024, "audit_unavailable", "The audit log cannot be written, and nothing is to happen without it")
}

/// Errors of the gateway's listener, before a request has become a call.
extension ErrorCode {
  /// Not valid HTTP, or HTTP that two parsers may read differently.
  public static let malformedRequest = ErrorCode(
    -32030, "malformed_request", "Not a valid HTTP request, or one with two readings")
  /// A part of the HTTP request is over its size limit.
  public static let requestTooLarge = ErrorCode(
    -32031, "request_too_large", "A part of the HTTP request is over its size limit")
  /// Valid HTTP that a gateway does not forward.
  public static let unsupported = ErrorCode(-32032, "unsupported", "HTTP that a gateway does not forward")
  /// The host is not served here.
  public static let misdirected = ErrorCode(-32033, "misdirected", "The request is for a host that is not served here")
  /// The request is that of a web page.
  public static let webPage = ErrorCode(-32034, "web_page", "Requests of web pages are not accepted")
  /// The key of `gateway.listen.keyFile` is missing or wrong.
  public static let keyRequired = ErrorCode(
    -32035, "key_required", "The key of gateway.listen.keyFile is missing, or another one")
  /// The client took too long to send the request.
  public static let requestTimeout = ErrorCode(-32036, "request_timeout", "The HTTP request did not come in time")
}

/// The errors of fetches and their tasks (wire.md section 4.1).
extension ErrorCode {
  /// No live user session.
  public static let notAuthenticated = ErrorCode(1001, "not_authenticated", "No live user session")
  /// No live implicit session.
  public static let notImplicitlyAuthenticated = ErrorCode(
    1002, "not_implicitly_authenticated", "No live implicit session")
  /// No client-credentials token could be obtained.
  public static let deviceNotAuthenticated = ErrorCode(
    1003, "device_not_authenticated", "The issuer returned no token for client credentials")
  /// A method that is not a token, or that is never sent: CONNECT, TRACE, TRACK.
  public static let methodNotAllowed = ErrorCode(1004, "method_not_allowed", "The HTTP method is not supported")
  /// A header that is reserved or malformed.
  public static let invalidHeaders = ErrorCode(1005, "invalid_headers", "A header is malformed or reserved")
  /// A path or URL that is malformed, hostile, or of a scheme that is not allowed.
  public static let invalidURL = ErrorCode(1006, "invalid_url", "Not an acceptable path or URL")
  /// A URL outside of the resource's base and additional origins.
  public static let originNotAllowed = ErrorCode(
    1007, "origin_not_allowed", "The URL is outside of what the resource allows")
  /// No route to the host, or no network.
  public static let networkUnreachable = ErrorCode(1008, "network_unreachable", "The network is unreachable")
  /// The host does not resolve, rejects the connection, or does not answer in time.
  public static let serverUnreachable = ErrorCode(1009, "server_unreachable", "The server cannot be reached")
  /// TLS failed.
  public static let tlsFailure = ErrorCode(1010, "tls_failure", "TLS failed, or the server could not be verified")
  /// The peer is trusted, but none of its keys is pinned.
  public static let pinMismatch = ErrorCode(1011, "pin_mismatch", "None of the server's keys is pinned")
  /// A body beyond the resource's limit.
  public static let responseTooLarge = ErrorCode(1012, "response_too_large", "The response is over the size limit")
  /// The peer broke HTTP, or redirected too often.
  public static let protocolError = ErrorCode(
    1013, "protocol_error", "The server violated HTTP, or redirected too often")
  /// The sidecar is being debugged, and fetches nothing.
  public static let debuggerAttached = ErrorCode(
    1014, "debugger_attached", "A debugger is attached to the sidecar: fetches are rejected")
  /// A body could not be encrypted, or a response is not encrypted as it must be.
  public static let payloadEncryptionFailed = ErrorCode(
    1015, "payload_encryption_failed", "A body could not be encrypted, or a response is not encrypted as required")
  /// No such task, for this peer.
  public static let taskNotFound = ErrorCode(1016, "task_not_found", "No such task, for this peer")
  /// The user has to do something first; with `stop`.
  public static let adviceRequired = ErrorCode(
    1017, "advice_required", "The user has to do something first: advice, continuation")
  /// The user has not satisfied the advice, or not enough of it; with `stop`.
  public static let adviceFailed = ErrorCode(
    1018, "advice_failed", "The required step-up failed or was not completed")
  /// The issuer gives no token on behalf of the inbound token's user before that user has done something; with
  /// `interaction`.
  public static let interactionRequired = ErrorCode(
    1019, "interaction_required", "The issuer gives no token on behalf of the user before that user has done something")
}

/// The errors of token validation (wire.md section 4.3): it could not be decided.
extension ErrorCode {
  /// The key set cannot be fetched.
  public static let jwksFetchFailed = ErrorCode(2001, "jwks_fetch_failed", "The key set cannot be fetched")
  /// The issuer's metadata is not available.
  public static let discoveryFailed = ErrorCode(2002, "discovery_failed", "The issuer's metadata cannot be fetched")
  /// The metadata is that of another issuer (RFC 8414 section 3.3).
  public static let discoveryIssuerMismatch = ErrorCode(
    2003, "discovery_issuer_mismatch", "The metadata's issuer is not the configured one")
  /// The key or key set is not valid (RFC 7517).
  public static let jwksInvalid = ErrorCode(2004, "jwks_invalid", "Not a valid JWK or JWK Set")
  /// A validation names an issuer that is not configured.
  public static let issuerUnknown = ErrorCode(2005, "issuer_unknown", "No issuer of that name is configured")
  /// The configuration does not allow key sets from that origin.
  public static let jwksURLNotAllowed = ErrorCode(
    2006, "jwks_url_not_allowed", "The configuration does not allow key sets from that origin")
  /// The authorization server could not determine whether the token is active.
  public static let introspectionFailed = ErrorCode(
    2007, "introspection_failed", "The authorization server could not determine whether the token is active")
}

/// The errors of journeys (wire.md section 4.4).
extension ErrorCode {
  /// None of the advices is one that a user can satisfy.
  public static let adviceNotRecognised = ErrorCode(
    3001, "advice_not_recognised", "There is no advice that a user can satisfy")
  /// No journey of that continuation waits for this peer.
  public static let continuationUnknown = ErrorCode(
    3002, "continuation_unknown", "No such continuation waits for this peer: it expired, was used, or is another's")
  /// The access manager has ended the journey: it took too long.
  public static let authenticationTimedOut = ErrorCode(
    3003, "authentication_timed_out", "The access manager has ended the journey: it took too long")
  /// The access manager cannot be reached.
  public static let accessManagerUnreachable = ErrorCode(
    3004, "access_manager_unreachable", "The access manager cannot be reached")
  /// The access manager's answer is an error or malformed.
  public static let accessManagerError = ErrorCode(
    3005, "access_manager_error", "The access manager returned an error or an invalid response")
}

/// The errors of sessions and tokens (wire.md section 5).
extension ErrorCode {
  /// No such session, for this peer.
  public static let sessionNotFound = ErrorCode(5001, "session_not_found", "No such session, for this peer")
  /// The session is there, but the user has to log in again.
  public static let sessionExpired = ErrorCode(5002, "session_expired", "The user has to log in again")
  /// The token endpoint answered with an error that no login resolves.
  public static let tokenEndpointError = ErrorCode(5003, "token_endpoint_error", "The issuer answered with an error")
  /// The token endpoint does not answer.
  public static let tokenEndpointUnreachable = ErrorCode(
    5004, "token_endpoint_unreachable", "The issuer does not answer")
  /// The issuer or the user denied the login, or its response is not valid.
  public static let authorizationFailed = ErrorCode(5005, "authorization_failed", "The authorization failed")
  /// No authorization of that state is under way for this peer.
  public static let stateUnknown = ErrorCode(
    5006, "state_unknown", "No authorization of that state is under way for this peer")
  /// The user has not decided yet (RFC 8628 section 3.5).
  public static let authorizationPending = ErrorCode(
    5007, "authorization_pending", "The user has not decided yet; ask again after retryAfterMs")
  /// The session store cannot be used now.
  public static let storeUnavailable = ErrorCode(5008, "store_unavailable", "The session store cannot be used now")
  /// The session's issuer is not configured any more, or is another one now.
  public static let sessionIssuerUnknown = ErrorCode(5009, "issuer_unknown", "No such issuer is configured")
  /// The grant is not configured, or the issuer does not support it.
  public static let grantNotSupported = ErrorCode(
    5010, "grant_not_supported", "The issuer is not configured for this grant, or does not support it")
}

/// The errors of `pass.*` (wire.md section 4.5).
extension ErrorCode {
  /// Adobe Pass answered with an error.
  public static let passError = ErrorCode(6001, "pass_error", "Adobe Pass answered, and it was no success")
  /// Adobe Pass gave no usable answer.
  public static let passUnreachable = ErrorCode(6002, "pass_unreachable", "Adobe Pass gave no usable answer")
  /// No decision point of kind `adobe-pass` has that name.
  public static let passNotConfigured = ErrorCode(
    6003, "pass_not_configured", "No decision point of kind adobe-pass has that name")
}
