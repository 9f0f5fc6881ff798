/// The reason why an authorization request gave no code.
package struct AuthorizationError: Error {
  package let detail: String
  /// The error code of the answer, or one for what is wrong with it.
  package let code: String
  /// Whether the user has to log in again.
  package let isFinal: Bool
  /// The server's failure, where there was no answer to judge.
  package var cause: TokenError?

  package init(_ detail: String, _ code: String, isFinal: Bool = false) {
    self.detail = detail
    self.code = code
    self.isFinal = isFinal
  }

  package init(_ cause: TokenError) {
    self.init(cause.detail, "")
    self.cause = cause
  }
}
