import AuthEngine
import Foundation
public import HTTPMessages

extension TransportError: FoundationError {
  /// The code of a fetch that fails for the same reason.
  public var numberedCode: NumberedErrorCode { NumberedErrorCode(ResourceError.Code(code)) }
  /// Its detail.
  public var explanation: String { detail }
  /// Whether the request had an effect.
  public var facts: PosternErrorFacts { PosternErrorFacts(outcome: outcome, isRetryable: isTransient) }
}

extension HTTPURLError: FoundationError {
  /// `invalid_url`.
  public var numberedCode: NumberedErrorCode { .invalidURL }
  /// The violated rule.
  public var explanation: String { "the URL \(phrase)" }
}

extension KeyPinsError: FoundationError {
  /// `invalid_params`.
  public var numberedCode: NumberedErrorCode { .invalidRequest }
  /// The invalid pin, and the form of a valid one.
  public var explanation: String { description }
}
