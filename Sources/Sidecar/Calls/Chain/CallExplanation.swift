package import PosternJSON
package import PosternJSONRPC
import PosternObservability
package import PosternProtocol
import PosternSupport

/// An explanation of a call: the steps of the chain in the order in which a call passes them.
package struct CallExplanation: Sendable {
  /// The steps up to the handler, or up to one behind which nothing more can be known.
  package private(set) var steps: [ExplanationStep] = []
  /// The params and the context that the handler would get; nil where a step rejects the call for good.
  package fileprivate(set) var call: (params: JSONTree?, context: CallContext)?

  fileprivate mutating func add(_ step: String, passes summary: String, _ details: [String: JSONValue?] = [:]) {
    add(step, .passes, summary, details)
  }

  fileprivate mutating func add(
    _ step: String, _ verdict: ExplanationStep.Verdict, _ summary: String, _ details: [String: JSONValue?] = [:]
  ) {
    let details = details.compactMapValues { $0 }
    steps.append(
      ExplanationStep(step: step, verdict: verdict, summary: summary, details: details.isEmpty ? nil : details))
  }

  fileprivate mutating func add(_ step: String, rejectedBy fault: RPCFault, _ details: [String: JSONValue?] = [:]) {
    steps.append(ExplanationStep(step, rejectedBy: fault, details.compactMapValues { $0 }))
  }
}

extension ExplanationStep {
  /// A step that rejects a call with `fault`, in the fault's words.
  package init(_ step: String, rejectedBy fault: RPCFault, _ details: [String: JSONValue] = [:]) {
    var details = details
    if details["path"] == nil { details["path"] = fault.path.map { .string($0) } }
    if details["retryAfterMs"] == nil {
      details["retryAfterMs"] = fault.retryAfter.map { .integer($0.wholeMillisecondsUp) }
    }
    details["reason"] = .string(fault.code.reason)
    self.init(
      step: step, verdict: .rejects, summary: fault.message, details: details, errorCode: fault.code.number)
  }
}

extension CallChain {
  /// The longest list of a rule that an explanation shows.
  private static let shownNames = 64

  /// Applies the steps to a call of `method` without carrying it out: nothing is counted, recorded or logged.
  package func explain(_ method: String, _ params: JSONValue?) -> CallExplanation {
    var explanation = CallExplanation()
    let snapshot = environment.snapshot()
    guard let rule = snapshot.access.rule(for: caller.peer) else {
      explanation.add(
        "peerRule",
        rejectedBy: RPCFault(.peerForbidden, snapshot.access.missingRule(for: caller.peer, method: method)))
      return explanation
    }
    let narrowing = caller.narrowing
    for level in narrowing?.chain ?? [] { addLevel(level, to: &explanation) }
    addRate(method, rule, to: &explanation)
    guard environment.methods[method] != nil else {
      explanation.add("method", rejectedBy: environment.methods.notFound(method, for: rule, narrowing))
      return explanation
    }
    explanation.add("method", passes: "\(method) exists")
    guard addRule(method, rule, snapshot, to: &explanation) else { return explanation }
    if let narrowing {
      guard narrowing.allows(method: method) else {
        explanation.add(
          "endpointMethods", rejectedBy: RPCFault(.peerForbidden, Self.notAllowed(method)),
          ["endpoint": narrowing.chain.first { !$0.own.allows(method: method) }.map { .string($0.id) }])
        return explanation
      }
      explanation.add("endpointMethods", passes: "Every level of the chain allows \(method)")
    }
    addConcurrency(method, rule, snapshot.callLimits, to: &explanation)
    do throws(RPCFault) {
      if let params, params.objectValue == nil {
        throw .invalidParams("Params go by name: an object, not an array", path: "")
      }
      let (meta, params) = try CallMeta.split(params.map(JSONTree.init))
      if let timeout = meta.timeoutMs {
        explanation.add(
          "deadline", passes: "The call ends after \(timeout) ms (meta.timeoutMs)",
          ["timeoutMs": .integer(Int64(timeout))])
      }
      addAudit(method, params, to: &explanation)
      if case .waiting? = environment.methods[method], environment.approval.requires(method, through: narrowing) {
        explanation.add("approval", .open, "The call is put to the maker of its endpoint first (approval: ask)")
      }
      if let fault = environment.methods.fault(in: params, of: method) { throw fault }
      explanation.add("params", passes: "The params have the form that \(method) needs")
      let call = Call(key: 0, id: nil, method: method, params: params)
      explanation.call = (params, context(of: call, meta, rule, snapshot, narrowing))
    } catch {
      explanation.add("params", rejectedBy: error)
    }
    return explanation
  }

  private func addRate(_ method: String, _ rule: AccessRules.Rule, to explanation: inout CallExplanation) {
    guard let rate = rule.rate else {
      return explanation.add("rate", passes: "The rule of peers sets no rate")
    }
    let details: [String: JSONValue?] = ["perSecond": .real(rate.perSecond), "burst": .integer(Int64(rate.burst))]
    if let fault = environment.rateLimit.fault(method, rule, caller.peer) {
      return explanation.add("rate", rejectedBy: fault, details)
    }
    explanation.add("rate", passes: "Within the rate of the rule of peers: \(rate)", details)
  }

  /// A level of the chain: its end, its rate and its calls under way. Of those above its own a child learns only what
  /// they come to.
  private func addLevel(_ level: Narrowing, to explanation: inout CallExplanation) {
    let now = environment.clock.monotonicNow
    let isOwn = level === caller.narrowing
    let details: [String: JSONValue?] =
      !isOwn
      ? ["depth": .integer(Int64(level.depth))]
      : [
        "endpoint": .string(level.id), "label": level.label.map { .string($0) }, "depth": .integer(Int64(level.depth)),
        "expiresInMs": level.expiry.map { .integer(max(0, ($0 - now).wholeMilliseconds)) },
        "perSecond": level.limits.rate.map { .real($0.perSecond) },
        "burst": level.limits.rate.map { .integer(Int64($0.burst)) },
        "concurrency": level.limits.concurrency.map { .integer(Int64($0)) },
        "callsUnderWay": .integer(Int64(level.callsUnderWay)),
      ]
    if level.isOver(at: now) {
      explanation.add("endpoint", rejectedBy: RPCFault(.peerForbidden, Self.over), details)
    } else if let wait = level.wait(at: now) {
      explanation.add("endpoint", rejectedBy: Narrowing.Limit.rate(wait).fault, details)
    } else {
      let label = isOwn ? level.label.map { " (\($0))" } ?? "" : ""
      explanation.add("endpoint", passes: "Level \(level.depth) of the chain\(label) is in force", details)
    }
  }

  /// Whether the rule allows the method.
  private func addRule(
    _ method: String, _ rule: AccessRules.Rule, _ snapshot: ConfigurationSnapshot, to explanation: inout CallExplanation
  ) -> Bool {
    let access = snapshot.access
    guard snapshot.hasPeers else {
      explanation.add("peerRule", passes: "Without peers the sidecar's own user may call everything")
      return true
    }
    let index = access.index(for: caller.peer)
    let scope = rule.scope
    // A child learns nothing of what its endpoint leaves out.
    let details: [String: JSONValue?] =
      caller.narrowing != nil
      ? [:]
      : [
        "index": index.map { .integer(Int64($0)) }, "uid": rule.uid.map { .integer(Int64($0)) },
        "gid": rule.gid.map { .integer(Int64($0)) }, "methods": Self.shown(rule.methods),
        "resources": Self.shown(scope.resources), "issuers": Self.shown(scope.issuers),
        "preauthorization": Self.shown(scope.preauthorization),
      ]
    guard rule.allows(method: method) else {
      explanation.add(
        "peerRule", rejectedBy: RPCFault(.peerForbidden, access.missingRule(for: caller.peer, method: method)), details)
      return false
    }
    let subject = rule.uid.map { "uid \($0)" } ?? rule.gid.map { "gid \($0)" } ?? "every user"
    explanation.add(
      "peerRule",
      passes: "Rule \(index ?? 0) of peers, for \(subject), applies to uid \(caller.peer.uid) and allows \(method)",
      details)
    return true
  }

  private func addConcurrency(
    _ method: String, _ rule: AccessRules.Rule, _ limits: ConcurrencyLimiter.Limits,
    to explanation: inout CallExplanation
  ) {
    guard let standing = environment.concurrency.standing(of: method, rule, caller) else {
      return explanation.add("concurrency", passes: "Calls of \(method) need no slot")
    }
    for level in caller.narrowing?.chain.reversed() ?? [] {
      guard let limit = level.limits.concurrency, level.callsUnderWay >= limit else { continue }
      explanation.add(
        "endpointConcurrency", rejectedBy: Narrowing.Limit.concurrency(limit).fault, ["endpoint": .string(level.id)])
      break
    }
    let details: [String: JSONValue?] = [
      "inFlight": .integer(Int64(standing.inFlight)), "limit": rule.concurrency.map { .integer(Int64($0)) },
    ]
    if let fault = standing.fault {
      explanation.add("concurrency", rejectedBy: fault, details)
    } else {
      explanation.add(
        "concurrency",
        passes: rule.concurrency.map { "\(standing.inFlight) of \($0) calls of the rule of peers are under way" }
          ?? "The rule of peers sets no concurrency", details)
    }
    // The counts of all calls are those of other users as well.
    let counts: [String: JSONValue?] =
      rule.scope.isEverything && caller.narrowing == nil
      ? [
        "inFlight": .integer(Int64(standing.all.inFlight)), "limit": .integer(Int64(limits.capacity)),
        "waiting": .integer(Int64(standing.all.waiting)), "queue": .integer(Int64(limits.queue)),
      ] : [:]
    if standing.all.inFlight < limits.capacity {
      explanation.add("inFlight", passes: "A slot of all calls is free (limits.inFlight)", counts)
    } else if standing.all.waiting < limits.queue {
      explanation.add("inFlight", .open, "The call would wait for a slot of all calls (limits.inFlight)", counts)
    } else {
      explanation.add("inFlight", rejectedBy: ConcurrencyLimiter.Rejection.queueFull.fault(), counts)
    }
  }

  private func addAudit(_ method: String, _ params: JSONTree?, to explanation: inout CallExplanation) {
    guard let trail = environment.audit.trail, environment.audit.entry(for: method, params, caller.narrowing) != nil
    else { return }
    guard trail.isUsable else { return explanation.add("audit", rejectedBy: AuditTrail.rejection) }
    explanation.add("audit", passes: "The call would be recorded")
  }

  /// A list of a rule; nil where everything is allowed.
  private static func shown(_ names: Set<String>?) -> JSONValue? {
    names.map { names in .array(names.sorted().prefix(shownNames).map { .string($0) }) }
  }
}
