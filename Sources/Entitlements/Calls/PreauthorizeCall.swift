import PosternJSON
import PosternSupport

/// One preauthorization: what is asked, and how verdicts become its answer.
struct PreauthorizeCall: Sendable {
  let request: PreauthorizeRequest
  let subject: DecisionSubject
  let context: JSONObject
  let point: DecisionPoint
  let clock: any EngineClock
  /// What the decisions depend on beside the resources.
  let scope: DecisionScope
  /// What is asked about, each resource once, in the order of their first mention.
  let resources: [ResourceName]
  /// For each requested resource its place in `resources`; nil: the same.
  private let places: [Int]?

  init(
    _ request: PreauthorizeRequest, subject: DecisionSubject, context: JSONObject, point: DecisionPoint,
    clock: any EngineClock
  ) {
    self.request = request
    self.subject = subject
    self.context = context
    self.point = point
    self.clock = clock
    scope = DecisionScope(point, subject, context: context)
    let names = request.resources.map { ResourceName($0) }
    guard Self.hasRepetition(names) else {
      resources = names
      places = nil
      return
    }
    var first: [ResourceName: Int] = [:]
    var distinct: [ResourceName] = []
    places = names.map { name in
      if let place = first[name] { return place }
      first[name] = distinct.count
      distinct.append(name)
      return distinct.count - 1
    }
    resources = distinct
  }

  /// Whether a name is there twice. Short lists, which most are, are looked through without hashing.
  private static func hasRepetition(_ names: [ResourceName]) -> Bool {
    guard names.count <= 24 else {
      var seen = Set<ResourceName>(minimumCapacity: names.count)
      return names.contains { !seen.insert($0).inserted }
    }
    return names.indices.contains { names[..<$0].contains(names[$0]) }
  }

  /// The question, without its resources.
  var question: DecisionBatch {
    DecisionBatch(
      subject: subject, action: point.settings.action, context: context,
      bypassesRemoteCache: request.disabledFeatures.contains(.remoteCache), resources: [])
  }

  /// Whether the subject's session has ended since the call began.
  var isTooLate: Bool { subject.expiresAt.map { $0 <= clock.wallNow } ?? false }

  /// The verdict with how long it is good: never longer than the configuration, the decision point and the session say.
  /// What is decided after the session's end counts for nothing.
  func kept(_ verdict: DecisionVerdict) -> KeptDecision {
    let now = clock.monotonicNow
    let wallNow = clock.wallNow
    let left = subject.expiresAt.map { $0 - wallNow }
    func unkept(_ verdict: DecisionVerdict) -> KeptDecision {
      KeptDecision(verdict: verdict, answeredAt: now, expiry: nil, expiresAt: nil)
    }
    if let left, left <= .zero, verdict.isDecided { return unkept(.fault(DecisionFault(.sessionExpired))) }
    let stated: Duration
    switch verdict {
    case .permit(let lifetime): stated = min(point.settings.permitLifetime, lifetime ?? point.settings.permitLifetime)
    case .deny(let status, let lifetime):
      // One that something can be done about is not kept: it may have been done.
      stated =
        status.action == "none" ? min(point.settings.denyLifetime, lifetime ?? point.settings.denyLifetime) : .zero
    case .degraded, .fault: stated = .zero
    }
    let life = left.map { min($0, stated) } ?? stated
    guard life > .zero else { return unkept(verdict) }
    // No renewal outlives the session.
    let renewal = life == left ? nil : KeptDecision.renewal(ofLife: life, from: now)
    return KeptDecision(
      verdict: verdict, answeredAt: now, expiry: now + life, expiresAt: wallNow + life, renewal: renewal)
  }

  /// The answer, from what was `known` by place and what `arrived`. What has not is a fault.
  func response(_ known: [KeptDecision?], _ arrived: [ResourceName: KeptDecision]) -> PreauthorizeResponse {
    let now = clock.monotonicNow
    let unhonored = request.disabledFeatures.intersection(point.provider.unhonoredFeatures)
    var decisions: [Decision] = []
    decisions.reserveCapacity(resources.count)
    var faults: [DecisionFault] = []
    for (place, resource) in resources.enumerated() {
      let kept = known[place] ?? arrived[resource]
      var source: Decision.Source = known[place] == nil ? .backend : .local
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
        let fault = DecisionFault(.networkError("the time ran out before the decision point had answered"))
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
    let ordered = places.map { places in places.map { decisions[$0] } } ?? decisions
    return PreauthorizeResponse(outcome: .response, decisions: ordered, unhonoredFeatures: unhonored)
  }

  /// A fault of one resource among others may be gone when it is asked about again.
  private static func item(_ status: Status) -> Status {
    status.isLocal && status.code == "server_response_format_unknown" ? status.suggesting("retry") : status
  }

  /// What to say of the whole request: when nothing at all was decided, and all for the same kind of reason.
  private static func wholeFault(_ faults: [DecisionFault], of count: Int) -> Status? {
    guard let first = faults.first, faults.count == count, faults.allSatisfy(\.isWhole),
      faults.allSatisfy({ $0.status.isLocal == first.status.isLocal })
    else { return nil }
    return first.status
  }
}
