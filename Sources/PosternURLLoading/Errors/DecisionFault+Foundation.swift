public import AuthEngine
import Foundation
import HTTPMessages

extension DecisionFault: FoundationError {
  /// `PosternDecisionErrorDomain`: the numbers are those of the decision point's statuses, 0 where it did not say this.
  public static var errorDomain: String { "PosternDecisionErrorDomain" }
  /// The decision point's status and code.
  public var numberedCode: ResourceError.Code { ResourceError.Code(number: status.status, reason: status.code) }
  /// The status' message.
  public var explanation: String { status.message }
  /// Whether asking again may help.
  public var facts: PosternErrorFacts {
    switch retry {
    case .never: PosternErrorFacts(isRetryable: false)
    case .after(let wait): PosternErrorFacts(isRetryable: true, retryAfter: wait)
    }
  }
}

extension TokenFault: FoundationError {
  /// `PosternTokenErrorDomain`: refusals of tokens have symbols and no numbers, so each has the number 1.
  public static var errorDomain: String { "PosternTokenErrorDomain" }
  /// The check that failed.
  public var numberedCode: ResourceError.Code { ResourceError.Code(number: 1, reason: code.rawValue) }
  /// Its message.
  public var explanation: String { message }
}
