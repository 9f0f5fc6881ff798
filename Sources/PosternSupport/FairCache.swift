/// A dictionary that owners share, bounded in entries and in weight. Beyond the bounds whoever has most loses what they
/// have not used for longest, so that nobody can push out what is another's by having much.
///
/// The entries of each owner form a chain from the latest used to the one that goes next. Every operation takes
/// constant time but one that pushes something out, which looks at every owner once.
package struct FairCache<Owner: Hashable & Sendable, Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private struct Node: Sendable {
    let key: Key
    let owner: Owner
    var value: Value
    var weight: Int
    /// When it was used last: a number that only grows.
    var used: UInt64
    /// The owner's entry that was used later than this one.
    var newer: Int
    /// The owner's entry that was used before this one.
    var older: Int
  }

  /// What one owner has.
  private struct Chain: Sendable {
    var newest: Int
    var oldest: Int
    var count = 0
    var weight = 0
  }

  private static var none: Int { -1 }

  private var capacity: Int
  private let maxWeight: Int
  private var places: [Key: Int] = [:]
  /// Without gaps: the last one moves into the place of one that is removed.
  private var nodes: [Node] = []
  private var chains: [Owner: Chain] = [:]
  private var uses: UInt64 = 0
  /// What all entries weigh.
  package private(set) var weight = 0

  package init(capacity: Int, maxWeight: Int = .max) {
    self.capacity = max(1, capacity)
    self.maxWeight = maxWeight
  }

  package var count: Int { nodes.count }

  /// In no order.
  package var keys: [Key] { nodes.map(\.key) }

  /// Has room for `capacity` entries at least.
  package mutating func grow(to capacity: Int) { self.capacity = max(self.capacity, capacity) }

  /// The value; to look is to use.
  package subscript(key: Key) -> Value? {
    mutating get {
      guard let place = places[key] else { return nil }
      use(place)
      return nodes[place].value
    }
  }

  /// The value; this look is no use.
  package func peek(_ key: Key) -> Value? { places[key].map { nodes[$0].value } }

  /// Whether there is such an entry; this look is no use of any.
  package func contains(where isWanted: (Key, Value) -> Bool) -> Bool { nodes.contains { isWanted($0.key, $0.value) } }

  /// Keeps `value`, which is `owner`'s from here on.
  package mutating func set(_ value: Value, for key: Key, of owner: Owner, weight: Int = 0) {
    if let place = places[key], nodes[place].owner == owner {
      count(weight - nodes[place].weight, 0, for: owner)
      nodes[place].value = value
      nodes[place].weight = weight
      use(place)
    } else {
      remove(key)
      let place = nodes.count
      nodes.append(
        Node(key: key, owner: owner, value: value, weight: weight, used: 0, newer: Self.none, older: Self.none))
      places[key] = place
      putFirst(place)
      count(weight, 1, for: owner)
    }
    while nodes.count > capacity || self.weight > maxWeight, let place = nextToGo { remove(at: place) }
  }

  /// Changes the value in its place; nil when there is none.
  package mutating func change<Result>(_ key: Key, _ body: (inout Value) -> Result) -> Result? {
    guard let place = places[key] else { return nil }
    use(place)
    return body(&nodes[place].value)
  }

  package mutating func remove(_ key: Key) { if let place = places[key] { remove(at: place) } }

  package mutating func removeAll(where isUnwanted: (Key, Value) -> Bool) {
    for node in nodes where isUnwanted(node.key, node.value) { remove(node.key) }
  }

  /// Of those who have most, in what there is too much of, the entry that was used first.
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

  private mutating func count(_ weight: Int, _ number: Int, for owner: Owner) {
    self.weight += weight
    chains[owner]?.weight += weight
    chains[owner]?.count += number
    if chains[owner]?.count == 0 { chains[owner] = nil }
  }

  private mutating func use(_ place: Int) {
    guard nodes[place].newer != Self.none else { return stamp(place) }
    takeOut(place)
    putFirst(place)
  }

  private mutating func stamp(_ place: Int) {
    uses += 1
    nodes[place].used = uses
  }

  private mutating func putFirst(_ place: Int) {
    stamp(place)
    let owner = nodes[place].owner
    let newest = chains[owner]?.newest ?? Self.none
    nodes[place].newer = Self.none
    nodes[place].older = newest
    if newest != Self.none { nodes[newest].newer = place }
    chains[owner, default: Chain(newest: place, oldest: place)].newest = place
    if newest == Self.none { chains[owner]?.oldest = place }
  }

  private mutating func takeOut(_ place: Int) { link(nodes[place].newer, nodes[place].older, of: nodes[place].owner) }

  /// Makes the two neighbours in the chain of `owner`; no neighbour is an end of it.
  private mutating func link(_ newer: Int, _ older: Int, of owner: Owner) {
    if newer == Self.none { chains[owner]?.newest = older } else { nodes[newer].older = older }
    if older == Self.none { chains[owner]?.oldest = newer } else { nodes[older].newer = newer }
  }

  private mutating func remove(at place: Int) {
    takeOut(place)
    count(-nodes[place].weight, -1, for: nodes[place].owner)
    places[nodes[place].key] = nil
    let last = nodes.removeLast()
    guard place != nodes.count else { return }
    // The last one gets the place that became free, and its neighbours hear of it.
    nodes[place] = last
    places[last.key] = place
    if last.newer == Self.none { chains[last.owner]?.newest = place } else { nodes[last.newer].older = place }
    if last.older == Self.none { chains[last.owner]?.oldest = place } else { nodes[last.older].newer = place }
  }
}
