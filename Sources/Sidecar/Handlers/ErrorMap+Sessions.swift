import AuthEngine
import HTTPMessages
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport

extension ErrorMap {
  /// A session's error. `path` is put before the path of a fault in the caller's own input.
  static func fault(_ error: SessionError, path: String = "") -> RPCFault {
    switch error.kind {
    case .notFound: return RPCFault(.sessionNotFound, data: ["path": .string(path.isEmpty ? "/session" : path)])
    case .expired: return session(.sessionExpired, error, retryable: false)
    case .tokenEndpoint(let failure): return session(.tokenEndpointError, error, failure, retryable: false)
    case .unreachable(let failure): return session(.tokenEndpointUnreachable, error, failure, retryable: true)
    case .authorizationFailed: return session(.authorizationFailed, error, retryable: false)
    case .adviceRequired(let held):
      var fault = session(.adviceRequired, error, retryable: false)
      let advices = held.advices.compactMap { PolicyAdviceDescription($0).json }
      fault.data["advice"] = advices.first
      fault.data["advices"] = .array(advices)
      return fault
    case .stateUnknown: return session(.stateUnknown, error, retryable: false)
    case .store(let failure):
      var fault = session(.storeUnavailable, error, retryable: failure.isRetryable)
      if let wait = failure.retryAfter { fault.data["retryAfterMs"] = .integer(wait.wholeMillisecondsUp) }
      return fault
    case .issuerUnknown:
      var fault = session(.sessionIssuerUnknown, error, retryable: false)
      if !path.isEmpty { fault.data["path"] = .string(path) }
      return fault
    case .grantNotSupported: return session(.grantNotSupported, error, retryable: false)
    case .sharedToken:
      return RPCFault(.peerForbidden, error.detail, data: ["retryable": false, "outcome": "not_sent"])
    case .pending(let wait):
      var fault = session(.authorizationPending, error, retryable: true)
      fault.data["retryAfterMs"] = .integer(wait.wholeMillisecondsUp)
      return fault
    case .overloaded(let wait):
      var data: JSONObject = ["retryable": .bool(wait != nil), "outcome": "not_sent"]
      if let wait { data["retryAfterMs"] = .integer(wait.wholeMillisecondsUp) }
      return RPCFault(.overloaded, error.detail, data: data)
    case .noRoom:
      return RPCFault(.overloaded, error.detail, data: ["retryable": false, "outcome": "replied"])
    case .invalid(let inner): return .invalidParams(error.detail, path: path + inner)
    case .cancelled: return RPCFault(.requestCancelled)
    case .deadlineExceeded: return RPCFault(.deadlineExceeded)
    }
  }

  private static func session(
    _ code: RPCErrorCode, _ error: SessionError, _ failure: TokenError? = nil, retryable: Bool
  ) -> RPCFault {
    var data: JSONObject = ["retryable": .bool(retryable)]
    if let wait = failure?.retryAfter { data["retryAfterMs"] = .integer(wait.wholeMillisecondsUp) }
    if let oauth = failure?.oauthError {
      data["error"] = .string(oauth.code)
      data["errorDescription"] = oauth.description.map { .string($0) }
    }
    if let outcome = failure?.outcome { data["outcome"] = .string(outcome.rawValue) }
    if let status = failure?.status { data["status"] = .integer(Int64(status)) }
    var upstream = JSONObject()
    if let status = failure?.status { upstream["status"] = .integer(Int64(status)) }
    if let code = error.upstreamCode { upstream["code"] = .string(code) }
    if !upstream.members.isEmpty { data["upstream"] = .object(upstream) }
    return RPCFault(code, error.detail, data: data)
  }
}
