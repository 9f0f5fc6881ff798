import PosternSupport

/// One owner's decisions by what they are about, in two generations: what was not used for longest goes first. Each is
/// divided into parts, so that what looks at all scopes can do so a part at a time.
struct OwnedDecisions: Sendable {
  private struct Generation {
    private(set) var shelves = [[DecisionScope: DecisionShelf]](repeating: [:], count: DecisionScope.parts)
    private(set) var count = 0
    private(set) var bytes = 0

    /// Takes a shelf out, to be put back: to find it compares everything that its decisions depend on, which is too
    /// much to do for each.
    mutating func take(_ scope: DecisionScope) -> DecisionShelf? {
      guard let shelf = shelves[scope.part].removeValue(forKey: scope) else { return nil }
      count -= shelf.decisions.count
      bytes -= shelf.bytes + scope.bytes.count
      return shelf
    }

    mutating func put(_ shelf: DecisionShelf, in scope: DecisionScope) {
      guard !shelf.decisions.isEmpty else { return }
      shelves[scope.part][scope] = shelf
      count += shelf.decisions.count
      bytes += shelf.bytes + scope.bytes.count
    }

    mutating func beginRenewal(of resources: [ResourceName], in scope: DecisionScope) {
      shelves[scope.part][scope]?.beginRenewal(of: resources)
    }
  }

  private var young = Generation()
  private var old = Generation()

  /// How many decisions are kept, those that have expired included.
  var count: Int { young.count + old.count }
  /// What they take.
  var bytes: Int { young.bytes + old.bytes }

  /// Whether what was used last is more than half of `limits`.
  func hasOutgrown(half limits: DecisionMemory.Limits) -> Bool {
    young.count > max(1, limits.count / 2) || young.bytes > max(1, limits.bytes / 2)
  }

  /// Leaves out what was not used for longest.
  mutating func age() {
    old = young
    young = Generation()
  }

  /// What is kept about `resources`, in their order; nil where nothing is, or not any more.
  mutating func decisions(
    about resources: [ResourceName], in scope: DecisionScope, at now: MonotonicInstant
  ) -> [KeptDecision?] {
    guard old.count > 0, var older = old.take(scope) else {
      let shelf = young.shelves[scope.part][scope]
      return resources.map { resource in shelf?.fresh(resource, at: now) }
    }
    var shelf = young.take(scope) ?? DecisionShelf()
    let found = resources.map { resource in
      if shelf.decisions[resource] == nil, let kept = older.fresh(resource, at: now) {
        older.remove(resource)
        shelf.keep(kept, about: resource)
      }
      return shelf.fresh(resource, at: now)
    }
    old.put(older, in: scope)
    young.put(shelf, in: scope)
    return found
  }

  /// Remembers those of `decisions` that may be, in place of what is kept about the resources; forgets that about the
  /// others that are decided: they are a newer word.
  mutating func take(_ decisions: [(ResourceName, KeptDecision)], in scope: DecisionScope) {
    var shelf = young.take(scope) ?? DecisionShelf()
    var older = old.count > 0 ? old.take(scope) : nil
    for (resource, decision) in decisions {
      if decision.expiry != nil {
        shelf.keep(decision, about: resource)
      } else if decision.verdict.isDecided {
        shelf.remove(resource)
      } else {
        continue
      }
      older?.remove(resource)
    }
    young.put(shelf, in: scope)
    if let older { old.put(older, in: scope) }
  }

  /// The decisions are renewed now: to be asked for again does not begin that again.
  mutating func beginRenewal(of resources: [ResourceName], in scope: DecisionScope) {
    young.beginRenewal(of: resources, in: scope)
    if old.count > 0 { old.beginRenewal(of: resources, in: scope) }
  }

  /// Forgets what `selection`, whose names are `names`, means in one part; tells how many that were.
  mutating func remove(_ selection: DecisionSelection, _ names: Set<ResourceName>?, part: Int) -> Int {
    Self.remove(selection, names, part, from: &young) + Self.remove(selection, names, part, from: &old)
  }

  private static func remove(
    _ selection: DecisionSelection, _ names: Set<ResourceName>?, _ part: Int, from generation: inout Generation
  ) -> Int {
    var removed = 0
    for scope in generation.shelves[part].keys.filter(selection.includes) {
      guard var shelf = generation.take(scope) else { continue }
      removed += shelf.decisions.count
      guard let names else { continue }
      for resource in names.found(in: shelf.decisions) { shelf.remove(resource) }
      removed -= shelf.decisions.count
      generation.put(shelf, in: scope)
    }
    return removed
  }
}
