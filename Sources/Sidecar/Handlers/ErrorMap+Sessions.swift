import AuthEngine
import HTTPMessages
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport
import SidecarCalls

extension ErrorMap {
  /// A session's error. `path` is put before the path of a fault in the caller's own input.
  static func fault(_ error: SessionError, path: String = "") -> RPCFault {
    switch error.kind {
    case .notFound: return RPCFault(.sessionNotFound, data: ["path": .string(path.isEmpty ? "/session" : path)])
    case .expired: return session(.sessionExpired, error)
    case .tokenEndpoint(let failure): return session(.tokenEndpointError, error, failure)
    case .unreachable(let failure):
      return session(failure.isAnswered ? .tokenEndpointError : .tokenEndpointUnreachable, error, failure)
    case .authorizationFailed: return session(.authorizationFailed, error)
    case .adviceRequired(let authorization):
      var fault = session(.adviceRequired, error)
      let advices = authorization.advices.compactMap { PolicyAdviceDescription($0).json }
      fault.data["advice"] = advices.first
      fault.data["advices"] = .array(advices)
      return fault
    case .stateUnknown: return session(.stateUnknown, error)
    case .store(let failure): return session(.storeUnavailable, error, retryAfter: failure.retryAfter)
    case .issuerUnknown:
      var fault = session(.sessionIssuerUnknown, error)
      if !path.isEmpty { fault.data["path"] = .string(path) }
      return fault
    case .grantNotSupported: return session(.grantNotSupported, error)
    case .sharedToken: return local(.peerForbidden, error, .notSent)
    case .pending(let wait): return session(.authorizationPending, error, retryAfter: wait)
    case .overloaded(let wait): return local(.overloaded, error, .notSent, retryAfter: wait)
    case .noCapacity: return local(.overloaded, error, .replied)
    case .invalid(let inner): return .invalidParams(error.detail, path: path + inner.jsonPointer)
    case .cancelled: return RPCFault(.requestCancelled)
    case .deadlineExceeded: return RPCFault(.deadlineExceeded)
    }
  }

  private static func session(
    _ code: RPCErrorCode, _ error: SessionError, _ failure: TokenError? = nil, retryAfter: Duration? = nil
  ) -> RPCFault {
    var data = JSONObject()
    data["retryable"] = error.isRetryable.map { .bool($0) }
    data["retryAfterMs"] = (retryAfter ?? failure?.retryAfter).map { .integer($0.wholeMillisecondsUp) }
    if let oauth = failure?.oauthError {
      data["error"] = .string(oauth.code)
      data["errorDescription"] = oauth.description.map { .string($0) }
    }
    if let outcome = failure?.outcome { data["outcome"] = .string(outcome.rawValue) }
    if let status = failure?.status { data["status"] = .integer(Int64(status)) }
    var upstream = JSONObject()
    if let status = failure?.status ?? failure?.proxyFault?.status { upstream["status"] = .integer(Int64(status)) }
    if let code = error.upstreamCode { upstream["code"] = .string(code) }
    if !upstream.members.isEmpty { data["upstream"] = .object(upstream) }
    data["detail"] = error.fault.map { .string($0) }
    return RPCFault(code, error.detail, data: data)
  }

  /// Maps an error of the engine's own rules, with the outcome of the request by then.
  private static func local(
    _ code: RPCErrorCode, _ error: SessionError, _ outcome: TransportError.Outcome, retryAfter: Duration? = nil
  ) -> RPCFault {
    var data: JSONObject = ["outcome": .string(outcome.rawValue)]
    data["retryable"] = error.isRetryable.map { .bool($0) }
    data["retryAfterMs"] = retryAfter.map { .integer($0.wholeMillisecondsUp) }
    return RPCFault(code, error.detail, data: data)
  }
}
