import AuthEngine
import HTTPMessages
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport

extension ErrorMap {
  /// A journey's error.
  static func fault(_ error: JourneyError) -> RPCFault {
    switch error.kind {
    case .adviceNotRecognised: return RPCFault(.adviceNotRecognised, error.detail, data: ["retryable": false])
    case .continuationUnknown: return RPCFault(.continuationUnknown, data: ["path": "/continuation"])
    case .timedOut: return RPCFault(.authenticationTimedOut, error.detail, data: ["retryable": false])
    case .unreachable(let failure):
      var data: JSONObject = ["retryable": .bool(failure.isRetryable ?? false)]
      data["outcome"] = failure.outcome.map { .string($0.rawValue) }
      return RPCFault(.accessManagerUnreachable, error.detail, data: data)
    case .accessManager(let status, let code):
      var data: JSONObject = ["retryable": .bool((status ?? 0) >= 500)]
      var upstream = JSONObject()
      if let status {
        data["status"] = .integer(Int64(status))
        upstream["status"] = .integer(Int64(status))
      }
      if let code {
        data["errorCode"] = .string(code)
        upstream["code"] = .string(code)
      }
      data["upstream"] = .object(upstream)
      return RPCFault(.accessManagerError, error.detail, data: data)
    case .session(let session): return fault(session)
    case .overloaded(let wait):
      return RPCFault(
        .overloaded, error.detail, data: ["retryable": true, "retryAfterMs": .integer(wait.wholeMillisecondsUp)])
    case .invalid(let path): return .invalidParams(error.detail, path: path.jsonPointer)
    case .deadlineExceeded: return RPCFault(.deadlineExceeded)
    case .cancelled: return RPCFault(.requestCancelled)
    }
  }
}
