public import JOSE
public import PosternSupport

/// A key set as it stood when it was fetched. A value: a validation works on one snapshot from beginning to end.
public struct KeySetSnapshot: Sendable {
  /// The keys, and the entries that could not be used.
  public let keys: JWKSet
  /// Grows with every set taken into force; never used twice by one source. Zero for a set that was handed in.
  public let sequence: UInt64
  /// When the request that confirmed the set was sent; the boot itself for a set that was handed in.
  public let fetchedAt: MonotonicInstant
  /// Whether it is past its time to live and stands in because no newer one can be had.
  public let isStale: Bool

  /// A snapshot of the given parts.
  public init(keys: JWKSet, sequence: UInt64, fetchedAt: MonotonicInstant, isStale: Bool = false) {
    self.keys = keys
    self.sequence = sequence
    self.fetchedAt = fetchedAt
    self.isStale = isStale
  }
}
