public import PosternSupport

/// An access token as the token endpoint gave it.
public struct AccessToken: Sendable {
  /// The token itself: visible ASCII without spaces, ready for `Authorization`.
  public let value: Secret<String>
  /// Counts the tokens of one engine upwards: of two tokens for the same grant the newer has the greater number.
  public let generation: UInt64
  /// When it expires by the boot clock, counted from before its request was sent.
  public let expiry: MonotonicInstant
  /// How long it was given; nil where that is not known.
  public let lifetime: Duration?
  /// When it expires by the wall clock, for people.
  public let expiresAt: Timestamp
  /// From when on it is no longer used: min(30 s, a tenth of its life) before it expires.
  public let renewal: MonotonicInstant
  /// The scope that was granted, which is the one asked for where the answer did not say (RFC 6749 section 5.1); nil
  /// when neither is known.
  public let scope: String?
  /// What binds it to its sender.
  package let binding: TokenBinding

  package init(
    value: Secret<String>, generation: UInt64, expiry: MonotonicInstant, lifetime: Duration?, expiresAt: Timestamp,
    renewal: MonotonicInstant, scope: String?, binding: TokenBinding
  ) {
    self.value = value
    self.generation = generation
    self.expiry = expiry
    self.lifetime = lifetime
    self.expiresAt = expiresAt
    self.renewal = renewal
    self.scope = scope
    self.binding = binding
  }

  /// How it is used: as a bearer token, or with a proof of possession.
  public var type: TokenType { binding.key == nil ? .bearer : .dpop }

  /// How long before its end a token of that life counts as expired: 30 s, or a tenth of a short life.
  package static func margin(ofLifetime lifetime: Duration) -> Duration { min(.seconds(30), lifetime / 10) }

  /// Whether it may still be used at `now`.
  public func isFresh(at now: MonotonicInstant) -> Bool { renewal > now }
}
