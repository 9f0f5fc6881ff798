import PosternSupport

/// Decisions by what they are about. Bounded in entries and bytes: the owner who has most loses what was not used for
/// longest.
///
/// A value: `DecisionCache` guards it.
struct DecisionMemory: Sendable {
  /// How much may be kept.
  struct Limits: Sendable {
    let count: Int
    let bytes: Int
  }

  private let limits: Limits
  private var owners: [UInt32: OwnedDecisions] = [:]
  /// How many decisions are kept, those that have expired included.
  private(set) var count = 0
  private var bytes = 0

  init(maxEntries: Int = 131_072, maxBytes: Int = 64 << 20) { limits = Limits(count: maxEntries, bytes: maxBytes) }

  /// Whether nothing at all is kept.
  var isEmpty: Bool { count == 0 }

  /// What is kept about `resources`, in their order; nil where nothing is, or not any more.
  mutating func decisions(
    about resources: [ResourceName], in scope: DecisionScope, at now: MonotonicInstant
  ) -> [KeptDecision?] {
    guard owners[scope.owner] != nil else { return Array(repeating: nil, count: resources.count) }
    return change(scope.owner) { $0.decisions(about: resources, in: scope, at: now) }
  }

  /// Remembers those of `decisions` that may be, in place of what is kept about the resources; forgets that about the
  /// others that are decided: they are a newer word.
  mutating func take(_ decisions: [(ResourceName, KeptDecision)], in scope: DecisionScope) {
    guard !decisions.isEmpty else { return }
    change(scope.owner) { $0.take(decisions, in: scope) }
  }

  /// The decisions are renewed now: to be asked for again does not begin that again.
  mutating func beginRenewal(of resources: [ResourceName], in scope: DecisionScope) {
    owners[scope.owner]?.beginRenewal(of: resources, in: scope)
  }

  /// Forgets what `selection`, whose names are `names`, means in one part of the scopes; tells how many that were.
  mutating func remove(_ selection: DecisionSelection, _ names: Set<ResourceName>?, part: Int) -> Int {
    var removed = 0
    for owner in selection.owner.map({ [$0] }) ?? Array(owners.keys) where owners[owner] != nil {
      removed += change(owner) { $0.remove(selection, names, part: part) }
    }
    return removed
  }

  /// Changes what there is of one owner, and makes room.
  @discardableResult
  private mutating func change<Result>(_ owner: UInt32, _ body: (inout OwnedDecisions) -> Result) -> Result {
    let result = update(owner, body)
    if owners[owner]?.hasOutgrown(half: limits) == true { update(owner) { $0.age() } }
    while count > limits.count || bytes > limits.bytes, let most = ownerOfMost { update(most) { $0.age() } }
    return result
  }

  private var ownerOfMost: UInt32? {
    let size: (OwnedDecisions) -> Int = count > limits.count ? { $0.count } : { $0.bytes }
    return owners.max { size($0.value) < size($1.value) }?.key
  }

  private mutating func update<Result>(_ owner: UInt32, _ body: (inout OwnedDecisions) -> Result) -> Result {
    // Taken out for the while, so that there is one copy.
    var owned = owners.removeValue(forKey: owner) ?? OwnedDecisions()
    let before = (owned.count, owned.bytes)
    let result = body(&owned)
    count += owned.count - before.0
    bytes += owned.bytes - before.1
    if owned.count > 0 { owners[owner] = owned }
    return result
  }
}
