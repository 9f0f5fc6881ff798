public import AuthEngine
import Foundation
import HTTPMessages

extension ResourceError: FoundationError {
  /// Its own.
  public var numberedCode: NumberedErrorCode { NumberedErrorCode(code) }
  /// Its detail.
  public var explanation: String { detail }
  /// Its own.
  public var facts: PosternErrorFacts {
    PosternErrorFacts(
      outcome: outcome, isRetryable: retryable, retryAfter: retryAfter, path: path?.jsonPointer,
      upstreamStatus: upstream?.status,
      upstreamCode: upstream?.code)
  }
}
