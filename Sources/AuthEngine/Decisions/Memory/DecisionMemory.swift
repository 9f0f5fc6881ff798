import Support

/// Decisions by what they are about. Bounded in entries and bytes; what was not used for longest goes first, in two generations.
///
/// A value: `DecisionBoard` guards it.
struct DecisionMemory: Sendable {
  private typealias Shelf = [ResourceName: KeptDecision]

  private struct Generation {
    var shelves: [DecisionScope: Shelf] = [:]
    var count = 0
    var bytes = 0
  }

  /// What an entry takes beside its texts.
  private static let overhead = 192

  private let countPerGeneration: Int
  private let bytesPerGeneration: Int
  private var young = Generation()
  private var old = Generation()

  init(maxEntries: Int = 131_072, maxBytes: Int = 64 << 20) {
    countPerGeneration = max(1, maxEntries / 2)
    bytesPerGeneration = max(1, maxBytes / 2)
  }

  /// How many decisions are kept, those that have expired included.
  var count: Int { young.count + old.count }

  /// Whether nothing at all is kept.
  var isEmpty: Bool { count == 0 }

  /// What is kept about `resources`, in their order; nil where nothing is, or not any more.
  mutating func decisions(
    about resources: [ResourceName], in scope: DecisionScope, at now: MonotonicInstant
  ) -> [KeptDecision?] {
    guard !isEmpty else { return Array(repeating: nil, count: resources.count) }
    let shelf = young.shelves[scope]
    let older = old.count > 0 ? old.shelves[scope] : nil
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
    if case .permit = decision.verdict, case .permit? = young.shelves[scope]?[resource]?.verdict {
      young.shelves[scope]?[resource] = decision
      return
    }
    remove(resource, in: scope)
    let weight = Self.weight(decision, resource)
    let isNewShelf = young.shelves[scope] == nil
    young.shelves[scope, default: [:]][resource] = decision
    young.count += 1
    young.bytes += weight + (isNewShelf ? scope.bytes.count : 0)
    guard young.count > countPerGeneration || young.bytes > bytesPerGeneration else { return }
    old = young
    young = Generation()
  }

  /// The decision is renewed now: to be asked for again does not begin that again.
  mutating func beginRenewal(of resource: ResourceName, in scope: DecisionScope) {
    young.shelves[scope]?[resource]?.renewal = nil
    if old.count > 0 { old.shelves[scope]?[resource]?.renewal = nil }
  }

  @discardableResult
  mutating func remove(_ resource: ResourceName, in scope: DecisionScope) -> Int {
    Self.remove(resource, in: scope, from: &young) + (old.count > 0 ? Self.remove(resource, in: scope, from: &old) : 0)
  }

  /// Forgets what `selection` names; tells how many that were.
  mutating func remove(_ selection: DecisionSelection) -> Int {
    var removed = 0
    // Filtered first: to look at a scope is cheap, to hash it is not.
    let scopes = Set(young.shelves.keys.filter(selection.includes)).union(old.shelves.keys.filter(selection.includes))
    for scope in scopes {
      let resources =
        selection.resources.map { $0.map { ResourceName($0) } }
        ?? Array(young.shelves[scope, default: [:]].keys) + Array(old.shelves[scope, default: [:]].keys)
      for resource in resources { removed += remove(resource, in: scope) }
    }
    return removed
  }

  private static func remove(_ resource: ResourceName, in scope: DecisionScope, from generation: inout Generation)
    -> Int
  {
    guard let kept = generation.shelves[scope]?.removeValue(forKey: resource) else { return 0 }
    generation.count -= 1
    generation.bytes -= weight(kept, resource)
    if generation.shelves[scope]?.isEmpty == true {
      generation.shelves[scope] = nil
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
