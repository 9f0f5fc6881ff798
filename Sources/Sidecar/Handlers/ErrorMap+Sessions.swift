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
    case .notFound: return RPCFault(.sessionNotFound, path: path.isEmpty ? "/session" : path)
    case .expired: return session(.sessionExpired, error)
    case .tokenEndpoint(let failure): return session(.tokenEndpointError, error, failure)
    case .unreachable(let failure):
      return session(failure.isAnswered ? .tokenEndpointError : .tokenEndpointUnreachable, error, failure)
    case .authorizationFailed: return session(.authorizationFailed, error)
    case .adviceRequired(let authorization):
      var fault = session(.adviceRequired, error)
      let advices = authorization.advices.compactMap { PolicyAdviceDescription($0).json }
      fault.details["advice"] = advices.first
      fault.details["advices"] = .array(advices)
      return fault
    case .stateUnknown: return session(.stateUnknown, error)
    case .store(let failure): return session(.storeUnavailable, error, retryAfter: failure.retryAfter)
    case .issuerUnknown:
      var fault = session(.sessionIssuerUnknown, error)
      if !path.isEmpty { fault.path = path }
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
    var fault = RPCFault(
      code, error.detail, outcome: failure?.outcome, isRetryable: error.isRetryable,
      retryAfter: retryAfter ?? failure?.retryAfter,
      upstream: RPCFault.Upstream(
        status: failure?.status ?? failure?.proxyFault?.status, code: error.upstreamCode), word: error.fault)
    if let oauth = failure?.oauthError {
      fault.details["error"] = .string(oauth.code)
      fault.details["errorDescription"] = oauth.description.map { .string($0) }
    }
    fault.details["status"] = failure?.status.map { .integer(Int64($0)) }
    return fault
  }

  /// Maps an error of the engine's own rules, with the outcome of the request by then.
  private static func local(
    _ code: RPCErrorCode, _ error: SessionError, _ outcome: TransportError.Outcome, retryAfter: Duration? = nil
  ) -> RPCFault {
    RPCFault(code, error.detail, outcome: outcome, isRetryable: error.isRetryable, retryAfter: retryAfter)
  }
}
