import AuthEngine
import HTTPMessages
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport

extension ErrorMap {
  /// Why there are no keys to judge a token with.
  static func fault(_ error: KeySetError) -> RPCFault {
    fault(
      error.kind.code, error.detail, status: error.status,
      isRetryable: error.isRetryable || error.kind == .deadlineExceeded, retryAfter: error.retryAfter)
  }

  /// Why the authorization server could not determine whether a token is active.
  static func fault(_ error: IntrospectionError) -> RPCFault {
    switch error {
    case .undecided(let error): return fault(error)
    case .malformed(let detail): return fault(error.code, detail, isRetryable: false)
    case .unverified(let reason):
      return fault(
        error.code, "the signed introspection response is not the issuer's: \(reason.message)",
        upstreamCode: reason.code.rawValue, isRetryable: false)
    case .unanswered(let cause):
      var fault = fault(error.code, unanswered: cause)
      fault.outcome = cause.outcome
      return fault
    }
  }

  /// Why there is no response of the introspection endpoint.
  private static func fault(_ code: ErrorCode, unanswered error: TokenError) -> RPCFault {
    let isRetryable = error.isRetryable ?? false
    switch error.kind {
    case .cancelled: return RPCFault(code)
    case .discovery(let failure):
      return fault(
        code, failure.detail, status: failure.status ?? failure.transport?.proxy?.status, isRetryable: isRetryable)
    case .unreachable(let transport):
      return fault(
        code, error.detail, status: transport.proxy?.status, upstreamCode: transport.code.rawValue,
        isRetryable: isRetryable)
    case .rejected, .unavailable, .malformed, .notPossible, .assertion, .deadlineExceeded:
      return fault(
        code, error.detail, status: error.status, upstreamCode: error.upstreamCode, isRetryable: isRetryable,
        retryAfter: error.retryAfter)
    }
  }

  private static func fault(
    _ code: ErrorCode, _ detail: String, status: Int? = nil, upstreamCode: String? = nil, isRetryable: Bool,
    retryAfter: Duration? = nil
  ) -> RPCFault {
    RPCFault(
      code, detail, isRetryable: isRetryable, retryAfter: isRetryable ? retryAfter : nil,
      upstream: UpstreamFault(status: status, code: upstreamCode))
  }
}
