import Support

/// One owner's decisions by what they are about, in two generations: what was not used for longest goes first. Each is divided into parts, so that
/// what looks at all scopes can do so a part at a time.
struct OwnedDecisions: Sendable {
  private typealias Shelf = [ResourceName: KeptDecision]

  private struct Generation {
    var shelves = [[DecisionScope: Shelf]](repeating: [:], count: DecisionScope.parts)
    var count = 0
    var bytes = 0
  }

  /// What an entry takes beside its texts.
  private static let overhead = 192

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
    let shelf = young.shelves[scope.part][scope]
    let older = old.count > 0 ? old.shelves[scope.part][scope] : nil
    guard shelf != nil || older != nil else { return Array(repeating: nil, count: resources.count) }
    return resources.map { resource in
      if let kept = shelf?[resource] { return kept.isFresh(at: now) ? kept : nil }
      guard let kept = older?[resource], kept.isFresh(at: now) else { return nil }
      keep(kept, about: resource, in: scope)
      return kept
    }
  }

  /// Remembers `decision`, in place of what is kept about the resource.
  mutating func keep(_ decision: KeptDecision, about resource: ResourceName, in scope: DecisionScope) {
    // In its place where it can be: renewed decisions come again and again.
    if case .permit = decision.verdict, case .permit? = young.shelves[scope.part][scope]?[resource]?.verdict {
      young.shelves[scope.part][scope]?[resource] = decision
      return
    }
    remove(resource, in: scope)
    let weight = Self.weight(decision, resource)
    let isNewShelf = young.shelves[scope.part][scope] == nil
    young.shelves[scope.part][scope, default: [:]][resource] = decision
    young.count += 1
    young.bytes += weight + (isNewShelf ? scope.bytes.count : 0)
  }

  /// The decision is renewed now: to be asked for again does not begin that again.
  mutating func beginRenewal(of resource: ResourceName, in scope: DecisionScope) {
    young.shelves[scope.part][scope]?[resource]?.renewal = nil
    if old.count > 0 { old.shelves[scope.part][scope]?[resource]?.renewal = nil }
  }

  @discardableResult
  mutating func remove(_ resource: ResourceName, in scope: DecisionScope) -> Int {
    Self.remove(resource, in: scope, from: &young) + (old.count > 0 ? Self.remove(resource, in: scope, from: &old) : 0)
  }

  /// Forgets what `selection`, whose names are `names`, means in one part; tells how many that were.
  mutating func remove(_ selection: DecisionSelection, _ names: Set<ResourceName>?, part: Int) -> Int {
    Self.remove(selection, names, part, from: &young) + Self.remove(selection, names, part, from: &old)
  }

  private static func remove(
    _ selection: DecisionSelection, _ names: Set<ResourceName>?, _ part: Int, from generation: inout Generation
  ) -> Int {
    var removed = 0
    for scope in Array(generation.shelves[part].keys) where selection.includes(scope) {
      for resource in found(names, on: generation.shelves[part][scope, default: [:]]) {
        removed += remove(resource, in: scope, from: &generation)
      }
    }
    return removed
  }

  /// What of `names` is there; nil: everything.
  private static func found(_ names: Set<ResourceName>?, on shelf: Shelf) -> [ResourceName] {
    guard let names else { return Array(shelf.keys) }
    return names.count < shelf.count ? names.filter { shelf[$0] != nil } : shelf.keys.filter(names.contains)
  }

  private static func remove(_ resource: ResourceName, in scope: DecisionScope, from generation: inout Generation)
    -> Int
  {
    guard let kept = generation.shelves[scope.part][scope]?.removeValue(forKey: resource) else { return 0 }
    generation.count -= 1
    generation.bytes -= weight(kept, resource)
    if generation.shelves[scope.part][scope]?.isEmpty == true {
      generation.shelves[scope.part][scope] = nil
      generation.bytes -= scope.bytes.count
    }
    return 1
  }

  private static func weight(_ decision: KeptDecision, _ resource: ResourceName) -> Int {
    var weight = overhead + resource.text.utf8.count
    if case .deny(let status, _) = decision.verdict {
      for text in [status.code, status.action, status.message] { weight += text.utf8.count }
      for text in [status.details, status.helpURL, status.trace] { weight += text?.utf8.count ?? 0 }
    }
    return weight
  }
}
