import AuthEngine
public import Foundation
public import HTTPMessages
public import PosternSupport

/// An error of the engine as Foundation has errors: `localizedDescription` describes it, and as an `NSError` it has the
/// domain `PosternErrorDomain`, the number that `errors.md` gives it, and in `userInfo` the values that a program
/// decides by (`PosternErrorKey`).
public protocol FoundationError: LocalizedError, CustomNSError {
  /// Number and reason, as in `errors.md`.
  var numberedCode: ErrorCode { get }
  /// A sentence for people: no token, query, header value or body.
  var explanation: String { get }
  /// Further values.
  var facts: PosternErrorFacts { get }
}

/// The domain of the engine's errors. A number has one meaning, whatever type has it.
public let posternErrorDomain = "PosternErrorDomain"

/// Members of an engine error's `userInfo`, in addition to `NSLocalizedDescriptionKey` and
/// `NSLocalizedFailureReasonErrorKey`. Unknown values are left out.
public enum PosternErrorKey {
  /// `String`: the stable symbol to decide by, such as `not_authenticated`.
  public static let reason = "PosternReason"
  /// `String`: whether the request had an effect: `not_sent`, `sent_no_reply` or `replied`.
  public static let outcome = "PosternOutcome"
  /// `Bool`: whether the same call may succeed later.
  public static let isRetryable = "PosternRetryable"
  /// `Double`: the delay before a retry, in seconds.
  public static let retryAfter = "PosternRetryAfter"
  /// `String`: JSON Pointer of the invalid part of the call.
  public static let path = "PosternPath"
  /// `Int`: the status of another server's answer.
  public static let upstreamStatus = "PosternUpstreamStatus"
  /// `String`: another server's own error code, or the fault of its answer.
  public static let upstreamCode = "PosternUpstreamCode"
}

/// The values of an error in addition to its code.
public struct PosternErrorFacts: Sendable, Hashable {
  /// Whether the request had an effect.
  public var outcome: TransportError.Outcome?
  /// Whether the same call may succeed later.
  public var isRetryable: Bool?
  /// The delay before a retry.
  public var retryAfter: Duration?
  /// JSON Pointer of the invalid part of the call.
  public var path: String?
  /// The part that another server's response has in the error.
  public var upstream: UpstreamFault?

  /// The known values.
  public init(
    outcome: TransportError.Outcome? = nil, isRetryable: Bool? = nil, retryAfter: Duration? = nil, path: String? = nil,
    upstream: UpstreamFault? = nil
  ) {
    self.outcome = outcome
    self.isRetryable = isRetryable
    self.retryAfter = retryAfter
    self.path = path
    self.upstream = upstream
  }
}

extension FoundationError {
  /// `PosternErrorDomain`.
  public static var errorDomain: String { posternErrorDomain }
  /// The number.
  public var errorCode: Int { numberedCode.number }
  /// The explanation.
  public var errorDescription: String? { explanation }
  /// The stable symbol.
  public var failureReason: String? { numberedCode.reason }
  /// Nothing.
  public var facts: PosternErrorFacts { PosternErrorFacts() }

  /// The known values, by `PosternErrorKey`.
  public var errorUserInfo: [String: Any] {
    let facts = facts
    var userInfo: [String: Any] = [
      NSLocalizedDescriptionKey: explanation,
      NSLocalizedFailureReasonErrorKey: numberedCode.reason,
      PosternErrorKey.reason: numberedCode.reason,
    ]
    userInfo[PosternErrorKey.outcome] = facts.outcome?.rawValue
    userInfo[PosternErrorKey.isRetryable] = facts.isRetryable
    userInfo[PosternErrorKey.retryAfter] = facts.retryAfter.map { $0 / .seconds(1) }
    userInfo[PosternErrorKey.path] = facts.path
    userInfo[PosternErrorKey.upstreamStatus] = facts.upstream?.status
    userInfo[PosternErrorKey.upstreamCode] = facts.upstream?.code
    return userInfo
  }
}

extension PosternErrorFacts: ConciseStringConvertible {
  /// The known values.
  public var description: String {
    Concise.text(
      "facts", outcome?.rawValue, isRetryable.map { $0 ? "retryable" : "not retryable" },
      retryAfter.map { "retry after \($0)" }, path.map(Concise.name), upstream?.status.map { "status \($0)" },
      upstream?.code.map(Concise.name))
  }
}
