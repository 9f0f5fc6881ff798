/// A dictionary of at most `capacity` entries; adding one more removes the one that was longest not used.
///
/// Every operation takes constant time, also when it is full: the entries form a chain from the latest used to the one that goes
/// next.
struct BoundedCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private struct Node: Sendable {
    var key: Key
    var value: Value
    /// Used later than this one.
    var newer: Int
    /// Used before this one.
    var older: Int
  }

  private static var none: Int { -1 }

  private let capacity: Int
  private var places: [Key: Int] = [:]
  /// Without gaps: the last one moves into the place of one that is removed.
  private var nodes: [Node] = []
  private var newest = -1
  private var oldest = -1

  init(capacity: Int) { self.capacity = max(1, capacity) }

  var count: Int { nodes.count }

  subscript(key: Key) -> Value? {
    mutating get {
      guard let place = places[key] else { return nil }
      use(place)
      return nodes[place].value
    }
    set {
      guard let newValue else {
        if let place = places[key] { remove(place) }
        return
      }
      if let place = places[key] {
        nodes[place].value = newValue
        return use(place)
      }
      if nodes.count == capacity { remove(oldest) }
      let place = nodes.count
      nodes.append(Node(key: key, value: newValue, newer: Self.none, older: Self.none))
      places[key] = place
      putFirst(place)
    }
  }

  private mutating func use(_ place: Int) {
    guard place != newest else { return }
    takeOut(place)
    putFirst(place)
  }

  private mutating func putFirst(_ place: Int) {
    nodes[place].newer = Self.none
    nodes[place].older = newest
    if newest != Self.none { nodes[newest].newer = place }
    newest = place
    if oldest == Self.none { oldest = place }
  }

  private mutating func takeOut(_ place: Int) {
    let (newer, older) = (nodes[place].newer, nodes[place].older)
    if newer == Self.none { newest = older } else { nodes[newer].older = older }
    if older == Self.none { oldest = newer } else { nodes[older].newer = newer }
  }

  private mutating func remove(_ place: Int) {
    takeOut(place)
    places[nodes[place].key] = nil
    let last = nodes.removeLast()
    let end = nodes.count
    guard place != end else { return }
    // The last one gets the place that became free, and its neighbours hear of it.
    nodes[place] = last
    places[last.key] = place
    if last.newer == Self.none { newest = place } else { nodes[last.newer].older = place }
    if last.older == Self.none { oldest = place } else { nodes[last.older].newer = place }
  }
}
