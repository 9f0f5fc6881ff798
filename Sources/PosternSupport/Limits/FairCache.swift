/// A cache that several groups (uids, mostly) share, bounded in entries and in weight. Beyond the bounds the group that
/// has the most loses its least recently used entry, so that a group cannot evict another's entries by adding many.
/// Unlike `ExpiringStore` it evicts what has not been used for longest: what it holds can be obtained again.
///
/// The entries of each group form a chain from the most to the least recently used one. Every operation takes constant
/// time but an eviction, which looks at every group once.
///
/// Inlinable, so that each module that uses it has it compiled for its own keys: as generic code across modules a look-up
/// of a hot path costs five times as much.
package struct FairCache<Group: Hashable & Sendable, Key: Hashable & Sendable, Value: Sendable>: Sendable {
  @usableFromInline struct Node: Sendable {
    @usableFromInline let key: Key
    @usableFromInline let group: Group
    @usableFromInline var value: Value
    @usableFromInline var weight: Int
    /// The number of the latest use; greater is later.
    @usableFromInline var used: UInt64 = 0
    /// The group's entry with the next later use.
    @usableFromInline var newer = -1
    /// The group's entry with the next earlier use.
    @usableFromInline var older = -1

    @inlinable
    init(key: Key, group: Group, value: Value, weight: Int) {
      self.key = key
      self.group = group
      self.value = value
      self.weight = weight
    }
  }

  /// The entries of one group.
  @usableFromInline struct Chain: Sendable {
    @usableFromInline var newest: Int
    @usableFromInline var oldest: Int
    @usableFromInline var count = 0
    @usableFromInline var weight = 0

    /// The chain of one entry.
    @inlinable
    init(only index: Int) {
      newest = index
      oldest = index
    }
  }

  @inlinable static var none: Int { -1 }

  @usableFromInline var capacity: Int
  @usableFromInline let maxWeight: Int
  @usableFromInline var indices: [Key: Int] = [:]
  /// Without gaps: the last node moves to the index of one that is removed.
  @usableFromInline var nodes: [Node] = []
  @usableFromInline var chains: [Group: Chain] = [:]
  @usableFromInline var uses: UInt64 = 0
  /// The weight of all entries.
  @usableFromInline package internal(set) var weight = 0

  @inlinable
  package init(capacity: Int, maxWeight: Int = .max) {
    self.capacity = max(1, capacity)
    self.maxWeight = maxWeight
  }

  @inlinable
  package var count: Int { nodes.count }

  /// In no order.
  @inlinable
  package var keys: [Key] { nodes.map(\.key) }

  /// Raises the capacity to at least `capacity` entries.
  @inlinable
  package mutating func grow(to capacity: Int) { self.capacity = max(self.capacity, capacity) }

  /// The value; counts as a use.
  @inlinable
  package subscript(key: Key) -> Value? {
    mutating get {
      guard let index = indices[key] else { return nil }
      use(index)
      return nodes[index].value
    }
  }

  /// The value, without counting as a use.
  @inlinable
  package func peek(_ key: Key) -> Value? { indices[key].map { nodes[$0].value } }

  /// Whether there is such an entry, without counting as a use.
  @inlinable
  package func contains(where isWanted: (Key, Value) -> Bool) -> Bool { nodes.contains { isWanted($0.key, $0.value) } }

  /// Stores `value` as an entry of `group`.
  @inlinable
  package mutating func set(_ value: Value, for key: Key, of group: Group, weight: Int = 0) {
    if let index = indices[key], nodes[index].group == group {
      count(weight - nodes[index].weight, 0, for: group)
      nodes[index].value = value
      nodes[index].weight = weight
      use(index)
    } else {
      remove(key)
      let index = nodes.count
      nodes.append(
        Node(key: key, group: group, value: value, weight: weight))
      indices[key] = index
      putFirst(index)
      count(weight, 1, for: group)
    }
    evict()
  }

  /// Changes the weight of an entry, which remains one of its group.
  @inlinable
  package mutating func setWeight(_ weight: Int, of key: Key) {
    guard let index = indices[key] else { return }
    count(weight - nodes[index].weight, 0, for: nodes[index].group)
    nodes[index].weight = weight
    evict()
  }

  @inlinable
  mutating func evict() {
    while nodes.count > capacity || weight > maxWeight, let index = nextToGo { remove(at: index) }
  }

  /// Changes the value; nil when there is none.
  @inlinable
  package mutating func change<Result>(_ key: Key, _ body: (inout Value) -> Result) -> Result? {
    guard let index = indices[key] else { return nil }
    use(index)
    return body(&nodes[index].value)
  }

  @inlinable
  package mutating func remove(_ key: Key) { if let index = indices[key] { remove(at: index) } }

  @inlinable
  package mutating func removeAll(where isUnwanted: (Key, Value) -> Bool) {
    for node in nodes where isUnwanted(node.key, node.value) { remove(node.key) }
  }

  /// The entry to evict: the least recently used one of the group with the most entries, or the most weight.
  @inlinable
  var nextToGo: Int? {
    let size: (Chain) -> Int = nodes.count > capacity ? { $0.count } : { $0.weight }
    var best: Chain?
    for chain in chains.values {
      guard let other = best else {
        best = chain
        continue
      }
      let (mine, theirs) = (size(chain), size(other))
      if mine > theirs || mine == theirs && nodes[chain.oldest].used < nodes[other.oldest].used { best = chain }
    }
    return best?.oldest
  }

  @inlinable
  mutating func count(_ weight: Int, _ number: Int, for group: Group) {
    self.weight += weight
    chains[group]?.weight += weight
    chains[group]?.count += number
    if chains[group]?.count == 0 { chains[group] = nil }
  }

  @inlinable
  mutating func use(_ index: Int) {
    guard nodes[index].newer != Self.none else { return stamp(index) }
    takeOut(index)
    putFirst(index)
  }

  @inlinable
  mutating func stamp(_ index: Int) {
    uses += 1
    nodes[index].used = uses
  }

  @inlinable
  mutating func putFirst(_ index: Int) {
    stamp(index)
    let group = nodes[index].group
    let newest = chains[group]?.newest ?? Self.none
    nodes[index].newer = Self.none
    nodes[index].older = newest
    if newest != Self.none { nodes[newest].newer = index }
    chains[group, default: Chain(only: index)].newest = index
    if newest == Self.none { chains[group]?.oldest = index }
  }

  @inlinable
  mutating func takeOut(_ index: Int) { link(nodes[index].newer, nodes[index].older, of: nodes[index].group) }

  /// Links the two as neighbours in the chain of `group`; `none` is an end of it.
  @inlinable
  mutating func link(_ newer: Int, _ older: Int, of group: Group) {
    if newer == Self.none { chains[group]?.newest = older } else { nodes[newer].older = older }
    if older == Self.none { chains[group]?.oldest = newer } else { nodes[older].newer = newer }
  }

  @inlinable
  mutating func remove(at index: Int) {
    takeOut(index)
    count(-nodes[index].weight, -1, for: nodes[index].group)
    indices[nodes[index].key] = nil
    let last = nodes.removeLast()
    guard index != nodes.count else { return }
    // The last node moves to the free index, and its neighbours link to that.
    nodes[index] = last
    indices[last.key] = index
    if last.newer == Self.none { chains[last.group]?.newest = index } else { nodes[last.newer].older = index }
    if last.older == Self.none { chains[last.group]?.oldest = index } else { nodes[last.older].newer = index }
  }
}

/// A cache of at most `capacity` entries, which evicts the least recently used one. For keys that callers cannot
/// choose; what callers fill is a `FairCache`.
package struct BoundedCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  @usableFromInline enum OneGroup { case all }

  @usableFromInline var entries: FairCache<OneGroup, Key, Value>

  @inlinable
  package init(capacity: Int) { entries = FairCache(capacity: capacity) }

  @inlinable
  package var count: Int { entries.count }

  /// Raises the capacity to at least `capacity` entries.
  @inlinable
  package mutating func grow(to capacity: Int) { entries.grow(to: capacity) }

  /// Whether there is such an entry, without counting as a use.
  @inlinable
  package func contains(where isWanted: (Key, Value) -> Bool) -> Bool { entries.contains(where: isWanted) }

  @inlinable
  package subscript(key: Key) -> Value? {
    mutating get { entries[key] }
    set {
      if let newValue { entries.set(newValue, for: key, of: .all) } else { entries.remove(key) }
    }
  }
}
