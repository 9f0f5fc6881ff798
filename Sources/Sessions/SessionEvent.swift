public import OAuthClient
public import TokenValidation

/// Something that happened to a session. For its uid only.
public enum SessionEvent: Sendable {
  /// It has a newer access token.
  case refreshed(Session, uid: UInt32)
  /// Its user has authenticated again: earlier decisions about the session may be different now.
  case steppedUp(SessionHandle, uid: UInt32)
  /// It has ended: by its uid, or because the issuer gives no more tokens.
  case ended(SessionHandle, issuer: String, uid: UInt32)
  /// It will end soon, at `Session.expiresAt`, and cannot be refreshed.
  case expiring(Session, uid: UInt32)
  /// A proactive refresh failed; the current token is used until it expires.
  case refreshFailed(SessionHandle, issuer: String, error: SessionError)
  /// An ID token that came with a refresh is not valid; the claims stay as they are.
  case idTokenRejected(issuer: String, fault: TokenFault)
  /// Background work failed; `detail` has no token and no handle.
  case troubled(String, detail: String)
}

/// The port through which sessions tell what happens to them.
///
/// Called on whatever task does the work: be quick, do not block, do not call back into the engine.
public protocol SessionObserver: Sendable {
  /// Something happened, in that call.
  func observe(_ event: SessionEvent, in call: CallScope)
}
