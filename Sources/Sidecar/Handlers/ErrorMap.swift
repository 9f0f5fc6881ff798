import AuthEngine
import HTTPMessages
import PosternConfiguration
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport
import SidecarAccess

/// Maps the engine's errors to errors of the wire. Every switch is exhaustive: a new kind of error does not compile
/// until its code on the wire is decided.
enum ErrorMap {
  /// The error of a fetch.
  static func fault(_ error: ResourceError) -> RPCFault {
    var data = JSONObject()
    if let path = error.path { data["path"] = .string(path.jsonPointer) }
    if let retryable = error.retryable { data["retryable"] = .bool(retryable) }
    if let retryAfter = error.retryAfter { data["retryAfterMs"] = .integer(retryAfter.wholeMillisecondsUp) }
    data["outcome"] = .string(error.outcome.rawValue)
    if let upstream = error.upstream {
      var members = JSONObject()
      if let status = upstream.status { members["status"] = .integer(Int64(status)) }
      if let code = upstream.code { members["code"] = .string(code) }
      data["upstream"] = .object(members)
      // As with every method that has `token_endpoint_error`.
      if error.code == .tokenEndpointError, upstream.status != nil {
        data["error"] = upstream.code.map { .string($0) }
        data["errorDescription"] = upstream.description.map { .string($0) }
        data["status"] = members["status"]
      }
    }
    if let interaction = error.interaction {
      data["claims"] = interaction.claims.map { .string($0) }
      data["wwwAuthenticate"] = interaction.challenge.map { .string($0) }
    }
    return RPCFault(RPCErrorCode(error.code), error.detail, data: data)
  }
}

extension ErrorMap {
  /// `fault` without the name, the addresses and the words of an issuer that the caller's rule hides.
  static func withoutIssuer(_ fault: RPCFault) -> RPCFault {
    var data = fault.data
    data["errorDescription"] = nil
    return RPCFault(fault.code, "no token from the resource's issuer", data: data)
  }
}

extension RPCErrorCode {
  fileprivate init(_ code: ResourceError.Code) {
    self =
      switch code {
      case .adviceRequired: .adviceRequired
      case .adviceFailed: .adviceFailed
      case .interactionRequired: .interactionRequired
      case .notAuthenticated: .notAuthenticated
      case .notImplicitlyAuthenticated: .notImplicitlyAuthenticated
      case .deviceNotAuthenticated: .deviceNotAuthenticated
      case .methodNotAllowed: .methodNotAllowed
      case .invalidHeaders: .invalidHeaders
      case .invalidURL: .invalidURL
      case .originNotAllowed: .originNotAllowed
      case .networkUnreachable: .networkUnreachable
      case .serverUnreachable: .serverUnreachable
      case .tlsFailure: .tlsFailure
      case .pinMismatch: .pinMismatch
      case .responseTooLarge: .responseTooLarge
      case .protocolError: .protocolError
      case .payloadEncryptionFailed: .payloadEncryptionFailed
      case .sessionNotFound: .sessionNotFound
      case .tokenEndpointError: .tokenEndpointError
      case .tokenEndpointUnreachable: .tokenEndpointUnreachable
      case .storeUnavailable: .storeUnavailable
      case .invalidRequest: .invalidParams
      case .overloaded: .overloaded
      case .deadlineExceeded: .deadlineExceeded
      case .requestCancelled: .requestCancelled
      case .internalError: .internalError
      }
  }
}

extension ErrorMap {
  /// A reload's error: the problems as `check-config` prints them, secrets never among them. They name things: a caller
  /// from whom some are hidden is sent to the log.
  static func fault(_ failure: ReloadFailure, for scope: PeerScope) -> RPCFault {
    switch failure {
    case .busy: RPCFault(.overloaded, "Another reload is at work", data: ["retryable": true, "retryAfterMs": 1000])
    case .problems(let problems):
      RPCFault(
        .configurationInvalid,
        data: [
          "problems": .array(
            scope.isEverything
              ? problems.problems.map { JSONValue.string($0.description) } : ["the sidecar's log has the problems"]),
          "retryable": false,
        ])
    }
  }
}
