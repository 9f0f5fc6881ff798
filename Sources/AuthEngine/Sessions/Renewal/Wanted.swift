import Support

/// Which token a caller needs.
struct Wanted: Sendable {
  let slot: TokenSlot
  /// A token that was refused: another one is needed, whatever its times say.
  let rejected: AccessToken?
  let minimumLife: Duration?

  /// The token of `live` if it will do at `now`. After a renewal anything that has not expired does: a life so short that it is
  /// never fresh must not be renewed without end.
  func token(of live: LiveSession, at now: MonotonicInstant, afterRenewal: Bool = false) -> AccessToken? {
    guard let token = live.tokens[slot], isAnother(token) else { return nil }
    if afterRenewal { return token.expiry > now ? token : nil }
    guard token.isFresh(at: now) else { return nil }
    return minimumLife.map { token.expiry >= now + $0 } ?? true ? token : nil
  }

  /// The token that stands in while there is none better to be had: one that has not really expired.
  func standIn(of live: LiveSession, at now: MonotonicInstant, for error: SessionError) -> AccessToken? {
    guard case .unreachable = error.kind, let token = live.tokens[slot], isAnother(token), token.expiry > now else {
      return nil
    }
    return token
  }

  /// Generations tell tokens of one process apart; after a record was read anew only the token itself does.
  private func isAnother(_ token: AccessToken) -> Bool {
    guard let rejected else { return true }
    return token.generation > rejected.generation && token.value != rejected.value
  }
}
