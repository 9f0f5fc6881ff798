public import AuthEngine
import Foundation
import HTTPMessages

extension DecisionFault: FoundationError {
  /// `PosternDecisionErrorDomain`: the numbers are those of the decision point's statuses, 0 for an error of the
  /// sidecar.
  public static var errorDomain: String { "PosternDecisionErrorDomain" }
  /// The decision point's status and code.
  public var numberedCode: NumberedErrorCode { NumberedErrorCode(number: status.status, reason: status.code) }
  /// The status' message.
  public var explanation: String { status.message }
  /// Whether a retry may help.
  public var facts: PosternErrorFacts {
    switch retry {
    case .never: PosternErrorFacts(isRetryable: false)
    case .after(let wait): PosternErrorFacts(isRetryable: true, retryAfter: wait)
    }
  }
}

extension TokenFault: FoundationError {
  /// `PosternTokenErrorDomain`: violations of tokens have symbols and no numbers, so each has the number 1.
  public static var errorDomain: String { "PosternTokenErrorDomain" }
  /// The violated rule.
  public var numberedCode: NumberedErrorCode { NumberedErrorCode(number: 1, reason: code.rawValue) }
  /// Its message.
  public var explanation: String { message }
}
