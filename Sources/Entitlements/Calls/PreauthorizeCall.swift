import PosternJSON
import PosternSupport

/// One preauthorization call: its resources, and the conversion of verdicts to its response.
struct PreauthorizeCall: Sendable {
  let request: PreauthorizeRequest
  let subject: DecisionSubject
  let context: ResolvedContext
  let point: DecisionPoint
  let clock: any EngineClock
  /// Everything but the resources that the decisions depend on.
  let scope: DecisionScope
  /// The resources, each once, in the order in which they appear first.
  let resources: [ResourceName]
  /// For each requested resource its index in `resources`; nil when that is the same.
  private let indexes: [Int]?

  init(
    _ request: PreauthorizeRequest, subject: DecisionSubject, context: ResolvedContext, point: DecisionPoint,
    clock: any EngineClock
  ) {
    self.request = request
    self.subject = subject
    self.context = context
    self.point = point
    self.clock = clock
    scope = DecisionScope(point, subject, context: context.key)
    let names = request.resources.map { ResourceName($0) }
    guard Self.hasDuplicates(names) else {
      resources = names
      indexes = nil
      return
    }
    var first: [ResourceName: Int] = [:]
    var distinct: [ResourceName] = []
    indexes = names.map { name in
      if let index = first[name] { return index }
      first[name] = distinct.count
      distinct.append(name)
      return distinct.count - 1
    }
    resources = distinct
  }

  /// Whether a name appears twice. Short lists, as most are, are searched without hashing.
  private static func hasDuplicates(_ names: [ResourceName]) -> Bool {
    guard names.count <= 24 else {
      var seen = Set<ResourceName>(minimumCapacity: names.count)
      return names.contains { !seen.insert($0).inserted }
    }
    return names.indices.contains { names[..<$0].contains(names[$0]) }
  }

  /// The batch to evaluate, without its resources.
  var question: DecisionBatch {
    DecisionBatch(
      subject: subject, action: point.settings.action, context: context.values,
      bypassesRemoteCache: request.disabledFeatures.contains(.remoteCache), resources: [])
  }

  /// Whether the subject's session has expired since the call started.
  var isTooLate: Bool { subject.expiresAt.map { $0 <= clock.wallNow } ?? false }

  /// Returns the verdict with its lifetime in the cache: at most what the configuration, the decision point and the
  /// session allow. A decision that comes after the end of the session does not count.
  func kept(_ verdict: DecisionVerdict) -> CachedDecision {
    let now = clock.monotonicNow
    let wallNow = clock.wallNow
    let left = subject.expiresAt.map { $0 - wallNow }
    func unkept(_ verdict: DecisionVerdict) -> CachedDecision {
      CachedDecision(verdict: verdict, answeredAt: now, expiry: nil, expiresAt: nil)
    }
    if let left, left <= .zero, verdict.isDecided { return unkept(.fault(DecisionFault(.sessionExpired))) }
    let stated: Duration
    switch verdict {
    case .permit(let lifetime): stated = min(point.settings.permitLifetime, lifetime ?? point.settings.permitLifetime)
    case .deny(let status, let lifetime):
      // A deny that the user can do something about is not cached: the user may have done it.
      stated =
        status.action == "none" ? min(point.settings.denyLifetime, lifetime ?? point.settings.denyLifetime) : .zero
    case .degraded, .fault: stated = .zero
    }
    let life = left.map { min($0, stated) } ?? stated
    guard life > .zero else { return unkept(verdict) }
    // No refresh after the end of the session.
    let refreshAt = life == left ? nil : CachedDecision.refreshTime(ofLifetime: life, from: now)
    return CachedDecision(
      verdict: verdict, answeredAt: now, expiry: now + life, expiresAt: wallNow + life, refreshAt: refreshAt)
  }

  /// Returns the response from the decisions that were cached and those that have arrived; a resource without one is a
  /// fault.
  func response(_ known: [CachedDecision?], _ arrived: [ResourceName: CachedDecision]) -> PreauthorizeResponse {
    let now = clock.monotonicNow
    let unhonored = request.disabledFeatures.intersection(point.provider.unhonoredFeatures)
    var decisions: [Decision] = []
    decisions.reserveCapacity(resources.count)
    var faults: [DecisionFault] = []
    for (index, resource) in resources.enumerated() {
      let kept = known[index] ?? arrived[resource]
      var source: Decision.Source = known[index] == nil ? .backend : .local
      let error: Status?
      switch kept?.verdict {
      case .permit?: error = nil
      case .deny(let status, _)?: error = status
      case .degraded(let status)?:
        error = status
        source = .degradation
      case .fault(let fault)?:
        faults.append(fault)
        error = Self.item(fault.status)
      case nil:
        let fault = DecisionFault(.networkError("timed out before the decision point answered"))
        faults.append(fault)
        error = fault.status
      }
      decisions.append(
        Decision(
          id: resource.text, error: error, source: source, age: kept.map { now - $0.answeredAt } ?? .zero,
          expiresAt: kept?.expiresAt))
    }
    if let whole = Self.wholeFault(faults, of: resources.count) {
      return PreauthorizeResponse(
        outcome: whole.isLocal ? .failure : .response, status: whole, unhonoredFeatures: unhonored)
    }
    let ordered = indexes.map { indexes in indexes.map { decisions[$0] } } ?? decisions
    return PreauthorizeResponse(outcome: .response, decisions: ordered, unhonoredFeatures: unhonored)
  }

  /// Suggests a retry for a malformed decision about one resource: the next answer may be well-formed.
  private static func item(_ status: Status) -> Status {
    status.isLocal && status.code == "server_response_format_unknown" ? status.suggesting("retry") : status
  }

  /// Returns the status of the whole request when nothing at all was decided, and all for the same kind of reason.
  private static func wholeFault(_ faults: [DecisionFault], of count: Int) -> Status? {
    guard let first = faults.first, faults.count == count, faults.allSatisfy(\.isWhole),
      faults.allSatisfy({ $0.status.isLocal == first.status.isLocal })
    else { return nil }
    return first.status
  }
}
