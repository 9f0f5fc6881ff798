import Support

/// An access token as it is stored: with times of the wall clock, which go on while nothing runs.
struct StoredToken: Sendable, Codable {
  let slot: TokenSlot
  let value: String
  let scope: String?
  /// Milliseconds since the epoch.
  let obtainedAt: Int64
  /// In milliseconds.
  let lifetime: Int64
}

extension StoredToken {
  /// When it expires by the wall clock.
  var expiresAt: Timestamp { Timestamp(millisecondsSinceEpoch: obtainedAt) + .milliseconds(lifetime) }

  /// The token as the engine uses it. A wall clock that was set back does not make it live longer than it was given.
  func accessToken(generation: UInt64, clock: any EngineClock) -> AccessToken {
    let remaining = min(expiresAt - clock.wallNow, .milliseconds(lifetime))
    let expiry = clock.monotonicNow + remaining
    return AccessToken(
      value: Secret(value), generation: generation, expiry: expiry, lifetime: .milliseconds(lifetime),
      expiresAt: expiresAt,
      renewal: clock.monotonicNow + (remaining - AccessToken.margin(ofLifetime: .milliseconds(lifetime))),
      scope: scope)
  }
}
