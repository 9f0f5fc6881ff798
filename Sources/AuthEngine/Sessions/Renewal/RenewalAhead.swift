import Support

/// When a token that is still good is renewed behind its user's back: between 75 % and 88 % of its life, at another point for each
/// session, so that sessions that began together do not renew together.
enum RenewalAhead {
  static func isDue(_ token: AccessToken, of handle: SessionHandle, at now: MonotonicInstant) -> Bool {
    let remaining = token.expiry - now
    guard let lifetime = token.lifetime, lifetime >= .seconds(20) else { return false }
    let share = Int(handle.key.id.first ?? 0) % 14
    return remaining * 100 <= lifetime * (12 + share)
  }
}
