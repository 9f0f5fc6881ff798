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
    case .adviceNotRecognised: return RPCFault(.adviceNotRecognised, error.detail, isRetryable: false)
    case .continuationUnknown: return RPCFault(.continuationUnknown, path: "/continuation")
    case .timedOut: return RPCFault(.authenticationTimedOut, error.detail, isRetryable: false)
    case .unreachable(let failure):
      return RPCFault(
        .accessManagerUnreachable, error.detail, outcome: failure.outcome, isRetryable: failure.isRetryable ?? false)
    case .accessManager(let status, let code):
      var fault = RPCFault(
        .accessManagerError, error.detail, isRetryable: (status ?? 0) >= 500,
        upstream: RPCFault.Upstream(status: status, code: code))
      fault.details["status"] = status.map { .integer(Int64($0)) }
      fault.details["errorCode"] = code.map { .string($0) }
      return fault
    case .session(let session): return fault(session)
    case .overloaded(let wait):
      return RPCFault(
        .overloaded, error.detail, isRetryable: true, retryAfter: wait)
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
    fault.details["advice"] = stop.first.flatMap { PolicyAdviceDescription($0).json }
    fault.details["advices"] = .array(stop.advices.compactMap { PolicyAdviceDescription($0).json })
    fault.details["response"] = stop.response.flatMap {
      try? JSONValueEncoder().encode(FetchResource.Result($0, task: task))
    }
    if error.code == .adviceRequired, let continuation = stop.continuation, let wait {
      fault.continuation = RPCFault.Continuation(continuation, expiresAt: now + wait)
    }
    return fault
  }
}
