/// Which lookup a call may join. By owner and part, so that what is forgotten is looked for among one owner's, a part
/// at a time.
struct JoinableLookups: Sendable {
  /// The lookup of each resource.
  typealias Names = [ResourceName: UInt64]

  private struct Place: Sendable, Hashable {
    let owner: UInt32
    let part: Int
  }

  private var places: [Place: [DecisionScope: Names]] = [:]

  /// Takes out what there is in `scope`, to be put back: to find it compares everything that decisions depend on, which
  /// is too much to do for each resource.
  mutating func take(_ scope: DecisionScope) -> Names {
    places[Place(owner: scope.owner, part: scope.part)]?.removeValue(forKey: scope) ?? [:]
  }

  mutating func put(_ names: Names, in scope: DecisionScope) {
    let place = Place(owner: scope.owner, part: scope.part)
    if !names.isEmpty {
      places[place, default: [:]][scope] = names
    } else if places[place]?.isEmpty == true {
      places[place] = nil
    }
  }

  /// What `selection`, whose names are `names`, means in one part is joined no more.
  mutating func close(_ selection: DecisionSelection, _ names: Set<ResourceName>?, part: Int) {
    let owners = selection.owner.map { [$0] } ?? places.keys.filter { $0.part == part }.map(\.owner)
    for owner in owners {
      let scopes = places[Place(owner: owner, part: part)]?.keys.filter(selection.includes) ?? []
      for scope in scopes {
        var open = take(scope)
        let gone = names.map { $0.found(in: open) }
        for name in gone ?? [] { open[name] = nil }
        put(gone == nil ? [:] : open, in: scope)
      }
    }
  }
}
