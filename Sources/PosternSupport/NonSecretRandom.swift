/// Random numbers for identifiers that must be distinct and reveal nothing (trace ids, names of tasks).
///
/// From the system, and not from a generator with a small state, whose numbers show how many others were drawn in
/// between. Never for tokens, handles, nonces or keys.
public struct NonSecretRandom: Sendable {
  /// The one of this process.
  public static let shared = NonSecretRandom()

  private init() {}

  /// The next number.
  public func next() -> UInt64 { UInt64.random(in: .min ... .max) }
}
