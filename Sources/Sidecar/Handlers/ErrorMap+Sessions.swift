import AuthEngine
import HTTPMessages
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport

extension ErrorMap {
  /// A session's error. `path` is put before the path of a fault in the caller's own input.
  static func fault(_ error: SessionError, path: String = "") -> RPCFault {
    var fault = RPCFault(
      error.kind.code, error.detail, isRetryable: error.isRetryable, retryAfter: error.retryAfter,
      upstream: UpstreamFault(code: error.upstreamCode), word: error.fault)
    switch error.kind {
    case .notFound: return RPCFault(.sessionNotFound, path: path.isEmpty ? "/session" : path)
    case .tokenEndpoint(let failure), .unreachable(let failure):
      fault.outcome = failure.outcome
      fault.upstream = UpstreamFault(
        status: failure.status ?? failure.proxyFault?.status, code: error.upstreamCode)
      if let oauth = failure.oauthError {
        fault.details["error"] = .string(oauth.code)
        fault.details["errorDescription"] = oauth.description.map { .string($0) }
      }
      fault.details["status"] = failure.status.map { .integer(Int64($0)) }
    case .adviceRequired(let authorization):
      let advices = authorization.advices.compactMap { PolicyAdviceDescription($0).json }
      fault.details["advice"] = advices.first
      fault.details["advices"] = .array(advices)
    case .issuerUnknown: if !path.isEmpty { fault.path = path }
    case .sharedToken, .overloaded: fault.outcome = .notSent
    case .noCapacity: fault.outcome = .replied
    case .invalid(let inner): return .invalidParams(error.detail, path: path + inner.jsonPointer)
    case .cancelled, .deadlineExceeded: return RPCFault(error.kind.code)
    case .expired, .authorizationFailed, .stateUnknown, .store, .grantNotSupported, .pending: break
    }
    return fault
  }
}
