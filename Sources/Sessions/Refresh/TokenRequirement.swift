import OAuthClient
import PosternSupport

/// Which token a caller needs.
struct TokenRequirement: Sendable {
  let slot: TokenSlot
  /// A token that was rejected: another one is needed, whatever its times say.
  let rejected: AccessToken?
  let minimumLife: Duration?

  /// The token of `live` where it meets the requirement at `now`.
  func token(of live: LiveSession, at now: MonotonicInstant) -> AccessToken? {
    guard let token = live.tokens[slot], isAnother(token), token.isFresh(at: now) else { return nil }
    return minimumLife.map { token.expiry >= now + $0 } ?? true ? token : nil
  }

  /// The token of `live` after a refresh that began when `seen` was the latest. One that has not expired is enough: a
  /// life so short that it is never fresh must not cause refreshes without end. Another caller's run may have refreshed
  /// another slot, or nothing.
  func token(of live: LiveSession, after seen: AccessToken?, at now: MonotonicInstant) -> AccessToken? {
    guard let token = live.tokens[slot], isAnother(token), token.expiry > now else { return nil }
    guard let minimumLife, token.value == seen?.value else { return token }
    return token.expiry >= now + minimumLife ? token : nil
  }

  /// A token that has not expired yet, so that its caller need not wait for a fresh one. Nil for callers who need
  /// another one.
  func usable(of live: LiveSession, at now: MonotonicInstant) -> AccessToken? {
    guard rejected == nil, minimumLife == nil, let token = live.tokens[slot], token.expiry > now else { return nil }
    return token
  }

  /// The token to use while the issuer is out of reach: one that has not expired yet.
  func fallback(of live: LiveSession, at now: MonotonicInstant) -> AccessToken? {
    guard let token = live.tokens[slot], isAnother(token), token.expiry > now else { return nil }
    return token
  }

  /// Generations tell tokens of one process apart; after a record was read again, only the token itself does.
  private func isAnother(_ token: AccessToken) -> Bool {
    guard let rejected else { return true }
    return token.generation > rejected.generation && token.value != rejected.value
  }
}
