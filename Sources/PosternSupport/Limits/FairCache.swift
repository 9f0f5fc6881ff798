/// A cache that several groups (uids, mostly) share, bounded in entries and in weight. Beyond the bounds the group that
/// has the most loses its least recently used entry, so that a group cannot evict another's entries by adding many.
/// Unlike `ExpiringStore` it evicts what has not been used for longest: what it holds can be obtained again.
///
/// The entries of each group form a chain from the most to the least recently used one. Every operation takes constant
/// time but an eviction, which looks at every group once.
package struct FairCache<Group: Hashable & Sendable, Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private struct Node: Sendable {
    let key: Key
    let group: Group
    var value: Value
    var weight: Int
    /// The number of the latest use; greater is later.
    var used: UInt64
    /// The group's entry with the next later use.
    var newer: Int
    /// The group's entry with the next earlier use.
    var older: Int
  }

  /// The entries of one group.
  private struct Chain: Sendable {
    var newest: Int
    var oldest: Int
    var count = 0
    var weight = 0
  }

  private static var none: Int { -1 }

  private var capacity: Int
  private let maxWeight: Int
  private var indices: [Key: Int] = [:]
  /// Without gaps: the last node moves to the index of one that is removed.
  private var nodes: [Node] = []
  private var chains: [Group: Chain] = [:]
  private var uses: UInt64 = 0
  /// The weight of all entries.
  package private(set) var weight = 0

  package init(capacity: Int, maxWeight: Int = .max) {
    self.capacity = max(1, capacity)
    self.maxWeight = maxWeight
  }

  package var count: Int { nodes.count }

  /// In no order.
  package var keys: [Key] { nodes.map(\.key) }

  /// Raises the capacity to at least `capacity` entries.
  package mutating func grow(to capacity: Int) { self.capacity = max(self.capacity, capacity) }

  /// The value; counts as a use.
  package subscript(key: Key) -> Value? {
    mutating get {
      guard let index = indices[key] else { return nil }
      use(index)
      return nodes[index].value
    }
  }

  /// The value, without counting as a use.
  package func peek(_ key: Key) -> Value? { indices[key].map { nodes[$0].value } }

  /// Whether there is such an entry, without counting as a use.
  package func contains(where isWanted: (Key, Value) -> Bool) -> Bool { nodes.contains { isWanted($0.key, $0.value) } }

  /// Stores `value` as an entry of `group`.
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
        Node(key: key, group: group, value: value, weight: weight, used: 0, newer: Self.none, older: Self.none))
      indices[key] = index
      putFirst(index)
      count(weight, 1, for: group)
    }
    evict()
  }

  /// Changes the weight of an entry, which remains one of its group.
  package mutating func setWeight(_ weight: Int, of key: Key) {
    guard let index = indices[key] else { return }
    count(weight - nodes[index].weight, 0, for: nodes[index].group)
    nodes[index].weight = weight
    evict()
  }

  private mutating func evict() {
    while nodes.count > capacity || weight > maxWeight, let index = nextToGo { remove(at: index) }
  }

  /// Changes the value; nil when there is none.
  package mutating func change<Result>(_ key: Key, _ body: (inout Value) -> Result) -> Result? {
    guard let index = indices[key] else { return nil }
    use(index)
    return body(&nodes[index].value)
  }

  package mutating func remove(_ key: Key) { if let index = indices[key] { remove(at: index) } }

  package mutating func removeAll(where isUnwanted: (Key, Value) -> Bool) {
    for node in nodes where isUnwanted(node.key, node.value) { remove(node.key) }
  }

  /// The entry to evict: the least recently used one of the group with the most entries, or the most weight.
  private var nextToGo: Int? {
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

  private mutating func count(_ weight: Int, _ number: Int, for group: Group) {
    self.weight += weight
    chains[group]?.weight += weight
    chains[group]?.count += number
    if chains[group]?.count == 0 { chains[group] = nil }
  }

  private mutating func use(_ index: Int) {
    guard nodes[index].newer != Self.none else { return stamp(index) }
    takeOut(index)
    putFirst(index)
  }

  private mutating func stamp(_ index: Int) {
    uses += 1
    nodes[index].used = uses
  }

  private mutating func putFirst(_ index: Int) {
    stamp(index)
    let group = nodes[index].group
    let newest = chains[group]?.newest ?? Self.none
    nodes[index].newer = Self.none
    nodes[index].older = newest
    if newest != Self.none { nodes[newest].newer = index }
    chains[group, default: Chain(newest: index, oldest: index)].newest = index
    if newest == Self.none { chains[group]?.oldest = index }
  }

  private mutating func takeOut(_ index: Int) { link(nodes[index].newer, nodes[index].older, of: nodes[index].group) }

  /// Links the two as neighbours in the chain of `group`; `none` is an end of it.
  private mutating func link(_ newer: Int, _ older: Int, of group: Group) {
    if newer == Self.none { chains[group]?.newest = older } else { nodes[newer].older = older }
    if older == Self.none { chains[group]?.oldest = newer } else { nodes[older].newer = newer }
  }

  private mutating func remove(at index: Int) {
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
  private enum OneGroup { case all }

  private var entries: FairCache<OneGroup, Key, Value>

  package init(capacity: Int) { entries = FairCache(capacity: capacity) }

  package var count: Int { entries.count }

  /// Raises the capacity to at least `capacity` entries.
  package mutating func grow(to capacity: Int) { entries.grow(to: capacity) }

  /// Whether there is such an entry, without counting as a use.
  package func contains(where isWanted: (Key, Value) -> Bool) -> Bool { entries.contains(where: isWanted) }

  package subscript(key: Key) -> Value? {
    mutating get { entries[key] }
    set {
      if let newValue { entries.set(newValue, for: key, of: .all) } else { entries.remove(key) }
    }
  }
}
