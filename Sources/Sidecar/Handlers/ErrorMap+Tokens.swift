import AuthEngine
import HTTPMessages
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport

extension ErrorMap {
  /// Why there are no keys to judge a token with.
  static func fault(_ error: KeySetError) -> RPCFault {
    let code: RPCErrorCode =
      switch error.kind {
      case .fetchFailed: .jwksFetchFailed
      case .discoveryFailed: .discoveryFailed
      case .discoveryIssuerMismatch: .discoveryIssuerMismatch
      case .invalid: .jwksInvalid
      case .cancelled: .requestCancelled
      case .deadlineExceeded: .deadlineExceeded
      }
    let isRetryable = error.isRetryable || error.kind == .deadlineExceeded
    return fault(
      code, error.detail, status: error.status, isRetryable: isRetryable, retryAfter: error.retryAfter)
  }

  /// Why the authorization server could not determine whether a token is active.
  static func fault(_ error: IntrospectionError) -> RPCFault {
    switch error {
    case .undecided(let error): return fault(error)
    case .malformed(let detail): return fault(.introspectionFailed, detail, isRetryable: false)
    case .unverified(let reason):
      return fault(
        .introspectionFailed, "the signed introspection response is not the issuer's: \(reason.message)",
        upstreamCode: reason.code.rawValue, isRetryable: false)
    case .unanswered(let error):
      var fault = Self.fault(unanswered: error)
      fault.outcome = error.outcome ?? fault.outcome
      return fault
    }
  }

  /// Why there is no response of the introspection endpoint.
  private static func fault(unanswered error: TokenError) -> RPCFault {
    switch error.kind {
    case .cancelled: return RPCFault(.requestCancelled)
    case .deadlineExceeded: return fault(.deadlineExceeded, error.detail, isRetryable: true)
    case .discovery(let failure):
      return fault(
        failure.kind == .issuerMismatch ? .discoveryIssuerMismatch : .discoveryFailed, failure.detail,
        status: failure.status ?? failure.transport?.proxy?.status, isRetryable: failure.isRetryable)
    case .unreachable(let transport):
      return fault(
        .introspectionFailed, error.detail, status: transport.proxy?.status, upstreamCode: transport.code.rawValue,
        isRetryable: error.isRetryable ?? false)
    case .unavailable(let oauth):
      return fault(
        .introspectionFailed, error.detail, status: error.status, upstreamCode: oauth?.code, isRetryable: true,
        retryAfter: error.retryAfter)
    case .rejected(let oauth):
      return fault(
        .introspectionFailed, error.detail, status: error.status, upstreamCode: oauth?.code, isRetryable: false)
    case .assertion(let reason):
      return fault(
        .introspectionFailed, error.detail, upstreamCode: reason.rawValue, isRetryable: error.isRetryable ?? false)
    case .malformed, .notPossible:
      return fault(.introspectionFailed, error.detail, status: error.status, isRetryable: false)
    }
  }

  private static func fault(
    _ code: RPCErrorCode, _ detail: String, status: Int? = nil, upstreamCode: String? = nil, isRetryable: Bool,
    retryAfter: Duration? = nil
  ) -> RPCFault {
    RPCFault(
      code, detail, isRetryable: isRetryable, retryAfter: isRetryable ? retryAfter : nil,
      upstream: RPCFault.Upstream(status: status, code: upstreamCode))
  }
}
