import AuthEngine
import HTTPMessages
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport
import SidecarCalls

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

extension ErrorMap {
  /// A fetch's error, with where it stopped when that was at an advice.
  static func fault(_ error: ResourceError, task: String, wait: Duration?, at now: Timestamp) -> RPCFault {
    var fault = fault(error)
    guard let stop = error.stop else { return fault }
    fault.data["advice"] = stop.first.flatMap { PolicyAdviceDescription($0).json }
    fault.data["advices"] = .array(stop.advices.compactMap { PolicyAdviceDescription($0).json })
    fault.data["response"] = stop.response.map { FetchResult.text($0, task: task).value }
    if error.code == .adviceRequired, let continuation = stop.continuation, let wait {
      fault.data["continuation"] = .string(continuation)
      fault.data["expiresAt"] = .string((now + wait).rfc3339)
    }
    return fault
  }
}
