public import AuthEngine
public import Foundation
public import HTTPMessages

/// An error of the engine as Foundation has errors: `localizedDescription` says what went wrong, and as an `NSError` it
/// has the domain `PosternErrorDomain`, the number that `errors.md` gives it, and in `userInfo` what a program decides
/// by (`PosternErrorKey`).
public protocol FoundationError: LocalizedError, CustomNSError {
  /// Number and reason, as in `errors.md`.
  var numberedCode: ResourceError.Code { get }
  /// A sentence for people: no token, query, header value or body.
  var explanation: String { get }
  /// What else is known.
  var facts: PosternErrorFacts { get }
}

/// The domain of the engine's errors. A number has one meaning, whatever type has it.
public let posternErrorDomain = "PosternErrorDomain"

/// Members of an engine error's `userInfo`, beside `NSLocalizedDescriptionKey` and `NSLocalizedFailureReasonErrorKey`.
/// What is not known is left out.
public enum PosternErrorKey {
  /// `String`: the stable symbol to switch on, such as `not_authenticated`.
  public static let reason = "PosternReason"
  /// `String`: what may have happened to the request: `not_sent`, `sent_no_reply` or `replied`.
  public static let outcome = "PosternOutcome"
  /// `Bool`: whether the same call may succeed later.
  public static let isRetryable = "PosternRetryable"
  /// `Double`: how many seconds to wait before that.
  public static let retryAfter = "PosternRetryAfter"
  /// `String`: JSON Pointer of the offending part of the call.
  public static let path = "PosternPath"
  /// `Int`: the status that another server answered with.
  public static let upstreamStatus = "PosternUpstreamStatus"
  /// `String`: another server's own error code, or what is wrong with its answer.
  public static let upstreamCode = "PosternUpstreamCode"
}

/// What an error says besides its code.
public struct PosternErrorFacts: Sendable, Hashable {
  /// What may have happened to the request.
  public var outcome: TransportError.Outcome?
  /// Whether the same call may succeed later.
  public var isRetryable: Bool?
  /// How long to wait before that.
  public var retryAfter: Duration?
  /// JSON Pointer of the offending part of the call.
  public var path: String?
  /// The status that another server answered with.
  public var upstreamStatus: Int?
  /// Another server's own error code.
  public var upstreamCode: String?

  /// Those that are known.
  public init(
    outcome: TransportError.Outcome? = nil, isRetryable: Bool? = nil, retryAfter: Duration? = nil, path: String? = nil,
    upstreamStatus: Int? = nil, upstreamCode: String? = nil
  ) {
    self.outcome = outcome
    self.isRetryable = isRetryable
    self.retryAfter = retryAfter
    self.path = path
    self.upstreamStatus = upstreamStatus
    self.upstreamCode = upstreamCode
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

  /// What is known, by `PosternErrorKey`.
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
    userInfo[PosternErrorKey.upstreamStatus] = facts.upstreamStatus
    userInfo[PosternErrorKey.upstreamCode] = facts.upstreamCode
    return userInfo
  }
}
