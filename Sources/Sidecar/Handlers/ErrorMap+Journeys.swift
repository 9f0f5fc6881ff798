import AuthEngine
import HTTPMessages
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport

extension ErrorMap {
  /// A journey's error.
  static func fault(_ error: JourneyError) -> RPCFault {
    var fault = RPCFault(error.kind.code, error.detail)
    switch error.kind {
    case .session(let session): return self.fault(session)
    case .continuationUnknown: return RPCFault(.continuationUnknown, path: "/continuation")
    case .invalid(let path): return .invalidParams(error.detail, path: path.jsonPointer)
    case .deadlineExceeded, .cancelled: return RPCFault(error.kind.code)
    case .adviceNotRecognised, .timedOut: fault.isRetryable = false
    case .unreachable(let failure):
      fault.outcome = failure.outcome
      fault.isRetryable = failure.isRetryable ?? false
    case .accessManager(let status, let code):
      fault.isRetryable = (status ?? 0) >= 500
      fault.upstream = UpstreamFault(status: status, code: code)
      fault.details["status"] = status.map { .integer(Int64($0)) }
      fault.details["errorCode"] = code.map { .string($0) }
    case .overloaded(let wait):
      fault.isRetryable = true
      fault.retryAfter = wait
    }
    return fault
  }
}

extension ErrorMap {
  /// A fetch's error, with where it stopped when that was at an advice.
  static func fault(_ error: ResourceError, task: String, wait: Duration?, at now: Timestamp) -> RPCFault {
    var fault = fault(error)
    guard let stop = error.stop else { return fault }
    fault.details["advice"] = stop.first.flatMap { PolicyAdviceDescription($0).json }
    fault.details["advices"] = .array(stop.advices.compactMap { PolicyAdviceDescription($0).json })
    fault.details["response"] = stop.response.map { Written(FetchResource.Result($0, task: task)).text.value }
    if error.code == .adviceRequired, let continuation = stop.continuation, let wait {
      fault.continuation = RPCFault.Continuation(continuation, expiresAt: now + wait)
    }
    return fault
  }
}
