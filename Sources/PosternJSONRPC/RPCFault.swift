public import PosternJSON
public import PosternSupport

/// The error of a call: code and message, and what callers can act on. `jsonValue` writes it for the wire.
public struct RPCFault: Error, Sendable {
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
  public let code: ErrorCode
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
  public var upstream: UpstreamFault?
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
    _ code: ErrorCode, _ message: String? = nil, path: String? = nil, outcome: RequestOutcome? = nil,
    isRetryable: Bool? = nil, retryAfter: Duration? = nil, upstream: UpstreamFault? = nil, word: String? = nil,
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
  public func with(code: ErrorCode? = nil, message: String? = nil) -> RPCFault {
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
    members["upstream"] = upstream.map(Self.json)
    members["detail"] = word.map { .string($0) }
    for member in details.members { members[member.name] = member.value }
    if let continuation {
      members["continuation"] = .string(continuation.text)
      members["expiresAt"] = .string(continuation.expiresAt.rfc3339)
    }
    members["traceId"] = traceID.map { .string($0) }
    return members
  }

  private static func json(_ upstream: UpstreamFault) -> JSONValue {
    var members = JSONObject()
    members["status"] = upstream.status.map { .integer(Int64($0)) }
    members["code"] = upstream.code.map { .string($0) }
    return .object(members)
  }

  /// The `error` member.
  public var jsonValue: JSONValue {
    var members = JSONObject()
    members["reason"] = .string(code.reason)
    for member in data.members { members[member.name] = member.value }
    return [
      "code": .integer(Int64(code.number)),
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
