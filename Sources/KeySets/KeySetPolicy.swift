/// How long a published key set is kept, and how often it may be asked for again.
public struct KeySetPolicy: Sendable, Hashable {
  /// The lifetime of a set whose response says nothing about it.
  static let defaultTTL: Duration = .seconds(300)

  /// The shortest lifetime, whatever the response says: bounds the load on the issuer.
  public let minTTL: Duration
  /// The longest lifetime, whatever the response says: bounds how long a withdrawn key is trusted.
  public let maxTTL: Duration
  /// How long after a refetch for an unknown `kid` the next one may be made, however the first one ended.
  public let cooldown: Duration
  /// How long beyond its lifetime a set stands in while no newer one can be had.
  public let staleIfError: Duration

  /// A policy; `minTTL` is at least a second, `maxTTL` at least `minTTL`, and negative durations count as zero.
  public init(
    minTTL: Duration = .seconds(60), maxTTL: Duration = .seconds(86_400), cooldown: Duration = .seconds(30),
    staleIfError: Duration = .seconds(3600)
  ) {
    self.minTTL = max(.seconds(1), minTTL)
    self.maxTTL = max(self.minTTL, maxTTL)
    self.cooldown = max(.zero, cooldown)
    self.staleIfError = max(.zero, staleIfError)
  }

  /// The lifetime to use where the response allows `ttl`; nil when it says nothing.
  func lifetime(_ ttl: Duration?) -> Duration { min(max(ttl ?? Self.defaultTTL, minTTL), maxTTL) }
}
