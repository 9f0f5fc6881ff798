/// A dictionary of at most `capacity` entries; adding one more removes the one that was longest not used. For what no
/// caller names; what callers fill is a `FairCache`.
package struct BoundedCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private enum Everybody { case everybody }

  private var entries: FairCache<Everybody, Key, Value>

  package init(capacity: Int) { entries = FairCache(capacity: capacity) }

  package var count: Int { entries.count }

  /// Has room for `capacity` entries at least.
  package mutating func grow(to capacity: Int) { entries.grow(to: capacity) }

  /// Whether there is such an entry; this look is no use of any.
  package func contains(where isWanted: (Key, Value) -> Bool) -> Bool { entries.contains(where: isWanted) }

  package subscript(key: Key) -> Value? {
    mutating get { entries[key] }
    set {
      if let newValue { entries.set(newValue, for: key, of: .everybody) } else { entries.remove(key) }
    }
  }
}
