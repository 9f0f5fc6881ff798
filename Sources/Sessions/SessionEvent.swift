public import TokenValidation

/// Something that happened to a session. For its owner only.
public enum SessionEvent: Sendable {
  /// It has a newer access token.
  case refreshed(Session, owner: UInt32)
  /// Its user has authenticated more strongly, or anew: what was decided about the session before may be different now.
  case steppedUp(SessionHandle, owner: UInt32)
  /// It has ended: by its owner, or because the issuer gives no more tokens.
  case ended(SessionHandle, issuer: String, owner: UInt32)
  /// It will end soon, and no renewal will help: at the time of `Session.expiresAt`.
  case expiring(Session, owner: UInt32)
  /// A renewal that nobody waited for failed; the token at hand is used to its end.
  case renewalFailed(SessionHandle, issuer: String, error: SessionError)
  /// An ID token that came with a renewal is not valid; the claims stay what they were.
  case idTokenRefused(issuer: String, fault: TokenFault)
  /// Something failed that nobody waits for; `detail` holds no token and no handle.
  case troubled(String, detail: String)
}

/// The port through which sessions tell what happens to them.
///
/// Called on whatever task does the work: be quick, do not block, do not call back into the engine.
public protocol SessionObserver: Sendable {
  /// Something happened.
  func observe(_ event: SessionEvent)
}
