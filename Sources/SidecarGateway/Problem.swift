import HTTPMessages
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport

/// An error of Postern's own as the response to a program: `application/problem+json` (RFC 9457).
struct Problem: Sendable {
  /// The status.
  let status: Int
  /// The fields.
  let fields: HTTPFields
  /// The JSON text.
  let body: [UInt8]

  /// The problem for an error of a call; `status`: another status than that of its code.
  init(_ fault: RPCFault, status given: Int? = nil) {
    status = given ?? Self.status(of: fault)
    // `detail` of an error's data is a word for programs, that of a problem a sentence for people: both are in it.
    let word = fault.word.map { "\($0): " } ?? ""
    var members: JSONObject = [
      "type": .string("urn:postern:error:\(fault.code.reason)"), "title": .string(fault.code.summary),
      "status": .integer(Int64(status)), "detail": .string(word + fault.message),
      "code": .integer(Int64(fault.code.number)), "reason": .string(fault.code.reason),
    ]
    if Self.unsent.contains(fault.code) { members["outcome"] = "not_sent" }
    for member in Self.withoutMessages(fault).data.members { members[member.name] = member.value }
    body = JSONWriter().write(.object(members))
    var fields: HTTPFields = ["Content-Type": "application/problem+json", "Cache-Control": "no-store"]
    switch status {
    // RFC 9110 section 15.5.2 requires a challenge.
    case 401: fields.append("WWW-Authenticate", "Postern error=\"\(fault.code.reason)\"")
    case 405: fields.append("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
    case 503:
      let milliseconds = fault.retryAfter?.wholeMillisecondsUp ?? 1000
      fields.append("Retry-After", String(max(1, (milliseconds + 999) / 1000)))
    default: break
    }
    self.fields = fields
  }

  /// The error without what is about a message: `response` has the body of a resource server's response, a path leads to
  /// a member of params, except that of a header field, and the word is part of the problem's own detail.
  private static func withoutMessages(_ fault: RPCFault) -> RPCFault {
    var fault = fault
    fault.details["response"] = nil
    fault.word = nil
    if fault.path?.startsWithBytes(of: "/headers") != true { fault.path = nil }
    return fault
  }

  /// The errors of a request that the sidecar has only looked at, unless their data has another outcome.
  private static let unsent: Set<ErrorCode> = [
    .invalidRequest, .methodNotFound, .invalidParams, .peerForbidden, .sessionNotFound, .issuerUnknown,
    .continuationUnknown,
  ]

  private static func status(of fault: RPCFault) -> Int {
    if fault.code == .invalidParams, fault.path == "/resource" { return 404 }
    return statuses[fault.code] ?? 500
  }

  /// The status of each error that a method of the gateway's may end with. A test looks for each of the protocol's
  /// codes here.
  static let statuses: [ErrorCode: Int] = [
    .parseError: 400, .invalidRequest: 400, .methodNotFound: 404, .invalidParams: 400, .internalError: 500,
    .requestCancelled: 503, .messageTooLarge: 413, .overloaded: 503, .batchTooLarge: 413, .messageTooComplex: 413,
    .peerForbidden: 403, .shuttingDown: 503, .deadlineExceeded: 504, .auditUnavailable: 503,
    // Of a fetch.
    .notAuthenticated: 401, .notImplicitlyAuthenticated: 401, .deviceNotAuthenticated: 502, .methodNotAllowed: 405,
    .invalidHeaders: 400, .invalidURL: 400, .originNotAllowed: 400, .networkUnreachable: 502, .serverUnreachable: 502,
    .tlsFailure: 502, .pinMismatch: 502, .responseTooLarge: 502, .protocolError: 502, .debuggerAttached: 503,
    .payloadEncryptionFailed: 502, .adviceRequired: 401, .adviceFailed: 403, .interactionRequired: 401,
    .taskNotFound: 404,
    // Of sessions and logins.
    .sessionNotFound: 401, .sessionExpired: 401, .tokenEndpointError: 502, .tokenEndpointUnreachable: 502,
    .authorizationFailed: 401, .stateUnknown: 400, .authorizationPending: 503, .storeUnavailable: 503,
    .sessionIssuerUnknown: 404, .grantNotSupported: 400, .adviceNotRecognised: 400, .continuationUnknown: 400,
    .authenticationTimedOut: 401, .accessManagerUnreachable: 502, .accessManagerError: 502,
    // Of keys and validations.
    .jwksFetchFailed: 502, .discoveryFailed: 502, .discoveryIssuerMismatch: 502, .jwksInvalid: 502,
    .issuerUnknown: 404, .jwksURLNotAllowed: 400, .introspectionFailed: 502,
    // Of other methods.
    .passError: 502, .passUnreachable: 502, .passNotConfigured: 404, .configurationInvalid: 500,
  ]
}
