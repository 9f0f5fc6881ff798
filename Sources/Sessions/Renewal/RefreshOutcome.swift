/// What a run of a session's single flight came to. It renews one of the session's tokens, and callers who need another
/// one may have waited for it.
struct RefreshOutcome: Sendable {
  let slot: TokenSlot
  let outcome: Result<LiveSession, SessionError>

  /// Whether the run says nothing about the token of `slot`: it was for another one, and its issuer refused that one
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
