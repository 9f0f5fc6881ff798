import OAuthClient
import PosternSupport
import SessionRecords
import TokenValidation

/// Which token of which session is refreshed.
struct RefreshKey: Sendable, Hashable {
  let key: RecordKey
  let slot: TokenSlot
}

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

/// The result of one run of a session's single flight. It refreshes one of the session's tokens, and callers who need
/// another one may have waited for it.
struct RefreshOutcome: Sendable {
  let slot: TokenSlot
  let outcome: Result<LiveSession, SessionError>

  /// Whether the run has no result for the token of `slot`: it was for another one, and the issuer rejected that one
  /// alone.
  func isSilent(about slot: TokenSlot) -> Bool {
    guard self.slot != slot else { return false }
    guard case .failure(let error) = outcome else { return true }
    switch error.kind {
    case .tokenEndpoint, .authorizationFailed, .adviceRequired, .grantNotSupported: return true
    default: return false
    }
  }
}
