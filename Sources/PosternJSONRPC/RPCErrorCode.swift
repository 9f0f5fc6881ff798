/// A JSON-RPC error code with its stable reason, an open set: each protocol area adds its own in an extension.
public struct RPCErrorCode: Sendable, Hashable {
  /// The number on the wire.
  public let code: Int
  /// The symbol callers switch on, `data.reason`.
  public let reason: String
  /// What it means, for the OpenRPC document and as the message of last resort.
  public let summary: String

  /// A code; numbers and reasons are contracts (wire.md section 2).
  public init(_ code: Int, _ reason: String, _ summary: String) {
    self.code = code
    self.reason = reason
    self.summary = summary
  }

  /// Same number and same reason.
  public static func == (left: RPCErrorCode, right: RPCErrorCode) -> Bool {
    left.code == right.code && left.reason == right.reason
  }

  /// Feeds number and reason.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(code)
    hasher.combine(reason)
  }

  /// Not JSON, or not one of the framings.
  public static let parseError = RPCErrorCode(-32700, "parse_error", "Not JSON, or not one of the framings")
  /// Not a JSON-RPC request.
  public static let invalidRequest = RPCErrorCode(-32600, "invalid_request", "Not a JSON-RPC request")
  /// No such method.
  public static let methodNotFound = RPCErrorCode(-32601, "method_not_found", "No such method")
  /// The params do not fit; `path` says where.
  public static let invalidParams = RPCErrorCode(-32602, "invalid_params", "The params do not fit; path says where")
  /// A bug; details only in the log, found by `traceId`.
  public static let internalError = RPCErrorCode(-32603, "internal_error", "A bug; the log has more under traceId")
  /// Cancelled by the caller.
  public static let requestCancelled = RPCErrorCode(-32800, "request_cancelled", "Cancelled by the caller")
  /// The message is over the size limit.
  public static let messageTooLarge = RPCErrorCode(-32007, "message_too_large", "The message is over the size limit")
  /// In-flight, rate or connection limits reached.
  public static let overloaded = RPCErrorCode(
    -32009, "overloaded", "In-flight, rate or connection limits reached; try again after retryAfterMs")
  /// The batch has too many members.
  public static let batchTooLarge = RPCErrorCode(-32010, "batch_too_large", "The batch has too many members")
  /// The message has too many JSON values.
  public static let messageTooComplex = RPCErrorCode(
    -32025, "message_too_complex", "The message has more JSON values than the limit")
  /// This peer may not do this.
  public static let peerForbidden = RPCErrorCode(
    -32020, "peer_forbidden", "This peer may not call this method, or use this resource or session")
  /// Draining: no new requests.
  public static let shuttingDown = RPCErrorCode(-32021, "shutting_down", "Draining: no new requests")
  /// The caller's time ran out.
  public static let deadlineExceeded = RPCErrorCode(-32022, "deadline_exceeded", "timeoutMs ran out")
  /// What must be recorded cannot be.
  public static let auditUnavailable = RPCErrorCode(
    -32024, "audit_unavailable", "The audit log cannot be written, and nothing is to happen without it")
}
