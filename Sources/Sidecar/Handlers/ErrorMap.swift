import AuthEngine
import HTTPMessages
import PosternConfiguration
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport

/// The one place where the engine's errors become errors of the wire.
enum ErrorMap {
  /// A fetch's error. Numbers and reasons are the same on both sides; the summary comes from the contract's own list.
  static func fault(_ error: ResourceError) -> RPCFault {
    let code = FetchResource.errors.first { $0.code == error.code.number } ?? common(error.code)
    var data = JSONObject()
    if let path = error.path { data["path"] = .string(path) }
    if let retryable = error.retryable { data["retryable"] = .bool(retryable) }
    if let retryAfter = error.retryAfter { data["retryAfterMs"] = .integer(retryAfter.wholeMillisecondsUp) }
    data["outcome"] = .string(error.outcome.rawValue)
    if let upstream = error.upstream {
      var members = JSONObject()
      if let status = upstream.status { members["status"] = .integer(Int64(status)) }
      if let code = upstream.code { members["code"] = .string(code) }
      data["upstream"] = .object(members)
      // As with every method that has `token_endpoint_error`.
      if error.code == .tokenEndpointError {
        data["error"] = upstream.code.map { .string($0) }
        data["errorDescription"] = upstream.description.map { .string($0) }
        data["status"] = members["status"]
      }
    }
    return RPCFault(code, error.detail, data: data)
  }

  private static func common(_ code: ResourceError.Code) -> RPCErrorCode {
    switch code {
    case .deadlineExceeded: .deadlineExceeded
    case .requestCancelled: .requestCancelled
    case .invalidRequest: .invalidParams
    case .overloaded: .overloaded
    default: .internalError
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
