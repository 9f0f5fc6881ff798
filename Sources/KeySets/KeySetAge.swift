/// How old an issuer's key set is, for health.
public struct KeySetAge: Sendable {
  /// The issuer's name in the configuration.
  public let issuer: String
  /// The time since the request that confirmed the set; nil when there is none.
  public let age: Duration?
  /// How many usable keys are in it.
  public let keyCount: Int
  /// Whether it is past its lifetime. By itself no fault: an issuer nobody asks about is not polled.
  public let isExpired: Bool
  /// Whether it may still be used: within its lifetime, or within the bound of stale-if-error.
  public let isUsable: Bool
  /// Why the last request failed; nil when it succeeded.
  public let lastError: KeySetError?
}
