public import AuthEngine
import Foundation
public import HTTPMessages

extension TransportError: FoundationError {
  /// That of a fetch which fails for the same reason.
  public var numberedCode: ResourceError.Code {
    switch code {
    case .networkUnreachable: .networkUnreachable
    case .serverUnreachable: .serverUnreachable
    case .tlsFailure: .tlsFailure
    case .pinMismatch: .pinMismatch
    case .responseTooLarge: .responseTooLarge
    case .invalidURL: .invalidURL
    case .addressNotAllowed: .originNotAllowed
    case .timedOut: .deadlineExceeded
    case .cancelled: .requestCancelled
    default: .protocolError
    }
  }
  /// Its detail.
  public var explanation: String { detail }
  /// What may have happened to the request.
  public var facts: PosternErrorFacts { PosternErrorFacts(outcome: outcome, isRetryable: isTransient) }
}

extension HTTPURLError: FoundationError {
  /// `invalid_url`.
  public var numberedCode: ResourceError.Code { .invalidURL }
  /// The rule that was broken.
  public var explanation: String { "the URL \(self)" }
}

extension KeyPinsError: FoundationError {
  /// `invalid_params`.
  public var numberedCode: ResourceError.Code { .invalidRequest }
  /// Which pin it is, and what one looks like.
  public var explanation: String { description }
}
