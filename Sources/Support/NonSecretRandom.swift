/// Random numbers for identifiers that need to be distinct but not unguessable (trace ids): no system call each time.
///
/// Never for tokens, handles, nonces or keys.
public final class NonSecretRandom: Sendable {
  /// The one of this process, seeded by the system.
  public static let shared = NonSecretRandom(seed: UInt64.random(in: .min ... .max))

  private let state: Locked<UInt64>

  /// A generator whose numbers follow from `seed`.
  public init(seed: UInt64) { state = Locked(seed) }

  /// The next number (SplitMix64).
  public func next() -> UInt64 {
    let counter = state.withLock { state in
      state &+= 0x9E37_79B9_7F4A_7C15
      return state
    }
    var mixed = counter
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
