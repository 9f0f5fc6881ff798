import OAuthClient
import PosternSupport
import TokenValidation

/// The token endpoint's answer to a refresh, by whichever grant.
struct RefreshedToken: Sendable {
  package let answer: TokenRequests.Answer
  /// Which of the session's tokens it is.
  let slot: TokenSlot
  /// The rules for its ID token; nil: it continues the one before (OpenID Connect Core section 12.2).
  var expectations: IDTokenExpectations?
  /// Whether the refresh token was rejected, and is not used any more.
  var dropsRefreshToken = false
  /// When the session ends now; nil: as before.
  var expiresAt: Timestamp?
}
