import Glibc

/// Random numbers for identifiers that must be distinct and reveal nothing (trace ids, names of tasks).
///
/// From the system, and not from a generator with a small state, whose numbers show how many others were drawn in
/// between; 32 at a time, since each call needs several. Never for tokens, handles, nonces or keys.
public final class NonSecretRandom: Sendable {
  private struct Supply {
    /// Random numbers: as many bytes as `getentropy` returns at most.
    var numbers = [UInt64](repeating: 0, count: 32)
    /// How many of them were not returned yet.
    var left = 0

    mutating func fill() {
      let isFilled = numbers.withUnsafeMutableBytes { getentropy($0.baseAddress, $0.count) == 0 }
      // Where the system forbids the call, one at a time by the way of the standard library.
      if !isFilled { for index in numbers.indices { numbers[index] = UInt64.random(in: .min ... .max) } }
      left = numbers.count
    }
  }

  /// The one of this process.
  public static let shared = NonSecretRandom()

  private let supply = Locked(Supply())

  private init() {}

  /// The next number.
  public func next() -> UInt64 {
    supply.withLock { supply in
      if supply.left == 0 { supply.fill() }
      supply.left -= 1
      return supply.numbers[supply.left]
    }
  }
}

extension NonSecretRandom: ConciseStringConvertible {}
