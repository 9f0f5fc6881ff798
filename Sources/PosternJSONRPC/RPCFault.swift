public import PosternJSON
public import PosternSupport

/// The error of a call: code and message, and what callers can act on. `jsonValue` writes it for the wire.
public struct RPCFault: Error, Sendable {
  /// The answer of another server that led to the error.
  public struct Upstream: Sendable, Hashable {
    /// Its HTTP status.
    public let status: Int?
    /// Its own error code.
    public let code: String?

    /// The parts that are known; nil if there are none.
    public init?(status: Int? = nil, code: String?) {
      guard status != nil || code != nil else { return nil }
      self.status = status
      self.code = code
    }

    fileprivate var json: JSONValue {
      var members = JSONObject()
      members["status"] = status.map { .integer(Int64($0)) }
      members["code"] = code.map { .string($0) }
      return .object(members)
    }
  }

  /// A call that waits for the user, and can be continued.
  public struct Continuation: Sendable, Hashable {
    /// Names the call that waits.
    public let text: String
    /// When it is forgotten.
    public let expiresAt: Timestamp

    /// A continuation of that name, until then.
    public init(_ text: String, expiresAt: Timestamp) {
      self.text = text
      self.expiresAt = expiresAt
    }
  }

  /// Code and reason.
  public let code: RPCErrorCode
  /// A sentence for people; never holds a secret.
  public let message: String
  /// A JSON Pointer to the param that is at fault.
  public var path: String?
  /// Whether the request that the call is about may have had an effect.
  public var outcome: RequestOutcome?
  /// Whether the same call may succeed later; nil if the question makes no sense.
  public var isRetryable: Bool?
  /// How long to wait before that.
  public var retryAfter: Duration?
  /// The answer of another server.
  public var upstream: Upstream?
  /// `detail`: a word for programs that says more than the reason does.
  public var word: String?
  /// The call that waits for the user.
  public var continuation: Continuation?
  /// The trace of the call, in the log.
  public var traceID: String?
  /// Members that only this kind of error has.
  public var details: JSONObject

  /// A fault; without a message it has the code's summary.
  public init(
    _ code: RPCErrorCode, _ message: String? = nil, path: String? = nil, outcome: RequestOutcome? = nil,
    isRetryable: Bool? = nil, retryAfter: Duration? = nil, upstream: Upstream? = nil, word: String? = nil,
    details: JSONObject = JSONObject()
  ) {
    self.code = code
    self.message = message ?? code.summary
    self.path = path
    self.outcome = outcome
    self.isRetryable = isRetryable
    self.retryAfter = retryAfter
    self.upstream = upstream
    self.word = word
    self.details = details
  }

  /// The same with another code or message.
  public func with(code: RPCErrorCode? = nil, message: String? = nil) -> RPCFault {
    var fault = RPCFault(
      code ?? self.code, message ?? self.message, path: path, outcome: outcome, isRetryable: isRetryable,
      retryAfter: retryAfter,
      upstream: upstream, word: word, details: details)
    fault.continuation = continuation
    fault.traceID = traceID
    return fault
  }

  /// The params are invalid: `path` is a JSON Pointer into them.
  public static func invalidParams(_ message: String, path: String) -> RPCFault {
    RPCFault(.invalidParams, message, path: path)
  }

  /// The members of `data` beside `reason` and `docs`.
  public var data: JSONObject {
    var members = JSONObject()
    members["path"] = path.map { .string($0) }
    members["retryable"] = isRetryable.map { .bool($0) }
    members["retryAfterMs"] = retryAfter.map { .integer($0.wholeMillisecondsUp) }
    members["outcome"] = outcome.map { .string($0.rawValue) }
    members["upstream"] = upstream?.json
    members["detail"] = word.map { .string($0) }
    for member in details.members { members[member.name] = member.value }
    if let continuation {
      members["continuation"] = .string(continuation.text)
      members["expiresAt"] = .string(continuation.expiresAt.rfc3339)
    }
    members["traceId"] = traceID.map { .string($0) }
    return members
  }

  /// The `error` member. `data.docs` is the error's entry among the documents: page and anchor on their site.
  public var jsonValue: JSONValue {
    var members = JSONObject()
    members["reason"] = .string(code.reason)
    for member in data.members { members[member.name] = member.value }
    members["docs"] = .string("errors.html#error-\(code.code.magnitude)")
    return [
      "code": .integer(Int64(code.code)),
      "message": .string(message),
      "data": .object(members),
    ]
  }
}

extension RPCFault: Equatable {
  /// Same code; tests compare faults without matching prose.
  public static func == (left: RPCFault, right: RPCFault) -> Bool { left.code == right.code }
}

extension RPCFault {
  /// The fault for params that could not be decoded.
  public init(_ error: JSONDecodingError) {
    self = .invalidParams(error.description, path: error.path)
  }
}

/// A JSON-RPC error code with its stable reason, an open set: each protocol area adds its own in an extension.
public struct RPCErrorCode: Sendable, Hashable {
  /// The number on the wire.
  public let code: Int
  /// The symbol callers switch on, `data.reason`.
  public let reason: String
  /// The meaning, for the OpenRPC document and as the default message.
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
  /// The params are invalid at `path`.
  public static let invalidParams = RPCErrorCode(-32602, "invalid_params", "The params are invalid at path")
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
  /// The caller's timeout expired.
  public static let deadlineExceeded = RPCErrorCode(-32022, "deadline_exceeded", "timeoutMs expired")
  /// A record that is required cannot be written.
  public static let auditUnavailable = RPCErrorCode(
    -32024, "audit_unavailable", "The audit log cannot be written, and nothing is to happen without it")
}

/// The result of a call.
public enum RPCResult: Sendable {
  /// A value, to be written.
  case value(JSONValue)
  /// A value that has been written already.
  case text(JSONText)
  /// A value, and a descriptor that is passed to the caller with the first byte of the message.
  indirect case passing(JSONValue, PassedResult)

  /// The value, where it is not written yet.
  public var value: JSONValue? {
    switch self {
    case .value(let value), .passing(let value, _): value
    case .text: nil
    }
  }
}

/// A descriptor that is a part of a result.
public struct PassedResult: Sendable {
  /// The descriptor.
  public let descriptor: PassedDescriptor
  /// Called, once, when it cannot be passed: takes back what the call did, and returns the error that is its answer.
  let onFailure: @Sendable () -> RPCFault

  /// A descriptor, and what takes its call back.
  public init(_ descriptor: PassedDescriptor, onFailure: @escaping @Sendable () -> RPCFault) {
    self.descriptor = descriptor
    self.onFailure = onFailure
  }
}

extension PassedResult: ConciseStringConvertible {
  /// The descriptor.
  public var description: String { "\(descriptor)" }
}
