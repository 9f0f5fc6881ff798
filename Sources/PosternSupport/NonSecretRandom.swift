/// Random numbers for identifiers that need to be distinct and tell nothing (trace ids, names of tasks).
///
/// The system's own, and not those of a generator with a small state: whoever sees one of those can tell how many
/// others have had since. Never for tokens, handles, nonces or keys.
public struct NonSecretRandom: Sendable {
  /// The one of this process.
  public static let shared = NonSecretRandom()

  private init() {}

  /// The next number.
  public func next() -> UInt64 { UInt64.random(in: .min ... .max) }
}
