import OAuthClient
import PosternSupport

/// Which token a caller needs.
struct TokenRequirement: Sendable {
  let slot: TokenSlot
  /// A token that was refused: another one is needed, whatever its times say.
  let rejected: AccessToken?
  let minimumLife: Duration?

  /// The token of `live` if it will do at `now`.
  func token(of live: LiveSession, at now: MonotonicInstant) -> AccessToken? {
    guard let token = live.tokens[slot], isAnother(token), token.isFresh(at: now) else { return nil }
    return minimumLife.map { token.expiry >= now + $0 } ?? true ? token : nil
  }

  /// The token of `live` after a renewal that began when `seen` was at hand. Anything that has not expired does: a life
  /// so short that it is never fresh must not be renewed without end. Somebody else's run may have renewed another
  /// slot, or nothing.
  func token(of live: LiveSession, after seen: AccessToken?, at now: MonotonicInstant) -> AccessToken? {
    guard let token = live.tokens[slot], isAnother(token), token.expiry > now else { return nil }
    guard let minimumLife, token.value == seen?.value else { return token }
    return token.expiry >= now + minimumLife ? token : nil
  }

  /// The token that nobody need wait for a better one with: it has not really expired. Nil for callers who want another
  /// one.
  func spare(of live: LiveSession, at now: MonotonicInstant) -> AccessToken? {
    guard rejected == nil, minimumLife == nil, let token = live.tokens[slot], token.expiry > now else { return nil }
    return token
  }

  /// The token that stands in while there is none better to be had: one that has not really expired.
  func standIn(of live: LiveSession, at now: MonotonicInstant) -> AccessToken? {
    guard let token = live.tokens[slot], isAnother(token), token.expiry > now else { return nil }
    return token
  }

  /// Generations tell tokens of one process apart; after a record was read anew only the token itself does.
  private func isAnother(_ token: AccessToken) -> Bool {
    guard let rejected else { return true }
    return token.generation > rejected.generation && token.value != rejected.value
  }
}
