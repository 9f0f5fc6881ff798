import OAuthClient
import PosternSupport
import TokenValidation

/// What came of asking for another token, by whatever way.
struct Renewal: Sendable {
  package let answer: TokenRequests.Answer
  /// Which of the session's tokens it is.
  let slot: TokenSlot
  /// What its ID token must be like; nil: it follows the one before (OpenID Connect Core section 12.2).
  var expectations: IDTokenExpectations?
  /// The refresh token at hand was refused: it is not to be presented again.
  var dropsRefreshToken = false
  /// When the session ends now; nil: as it was.
  var expiresAt: Timestamp?
}

/// Why there is no other token.
struct RenewalFault: Error {
  let error: SessionError
  /// Whether there will be none later either: the user has to log in again.
  let isFinal: Bool

  init(_ error: SessionError, isFinal: Bool = false) {
    self.error = error
    self.isFinal = isFinal
  }

  /// Of all that a token endpoint says only `invalid_grant` is final: an outage never logs anybody out.
  init(_ error: TokenError) {
    guard case .refused(let oauth?) = error.kind, oauth.code == "invalid_grant" else {
      self.init(SessionError(error))
      return
    }
    self.init(
      SessionError(
        .expired, "the issuer gives no more tokens: the user has to log in again", upstreamCode: oauth.code),
      isFinal: true)
  }
}
