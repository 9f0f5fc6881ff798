import HTTPMessages
public import OAuthClient
public import PosternJSON
public import PosternSupport
package import SessionRecords

/// Authorization checks at policy decision points, with a cache, that fail closed: a fault is never taken for a permit.
///
/// It is kept when the configuration is reloaded. Decision points come with every call, so that a call ends with the
/// one that it started with.
public final class Preauthorizer: Sendable {
  private let services: Services
  private let deviceTokens: ClientCredentialsTokens
  private let records: any RecordStore
  private let prover: DPoPProver
  let cache: DecisionCache

  /// Takes client credentials tokens from `deviceTokens`. The credentials of clients that it registers are kept in
  /// `store`.
  package init(
    _ services: Services, deviceTokens: ClientCredentialsTokens, store: any RecordStore = MemoryRecordStore()
  ) {
    self.services = services
    self.deviceTokens = deviceTokens
    records = store
    prover = deviceTokens.resourceProver
    cache = DecisionCache()
  }

  /// Returns the decisions of `point` about `subject` and the resources of `request`. Ends by the deadline of `scope`,
  /// or when the calling task is cancelled, with the decisions that have arrived by then.
  public func preauthorize(
    _ request: PreauthorizeRequest, for subject: DecisionSubject, context: JSONObject = JSONObject(),
    at point: DecisionPoint, in scope: CallScope = CallScope()
  ) async -> PreauthorizeResponse {
    // The caller's mistake, which says nothing about the decision point.
    guard !request.resources.isEmpty else { return .failure(.noResources) }
    if let rule = point.settings.degradation, rule.isActive(at: services.clock.wallNow) {
      return finished(rule.response(to: request), at: point, in: scope)
    }
    let resolved: ResolvedContext
    do throws(DecisionFault) {
      resolved = try await point.provider.resolved(
        context, over: client(of: point, for: subject, in: scope))
    } catch {
      return finished(.failure(error.status), at: point, in: scope)
    }
    let call = PreauthorizeCall(request, subject: subject, context: resolved, point: point, clock: services.clock)
    let outcome = await decisions(call, scope)
    return finished(call.response(outcome.known, outcome.arrived), at: point, in: scope)
  }

  private func finished(
    _ response: PreauthorizeResponse, at point: DecisionPoint, in scope: CallScope
  ) -> PreauthorizeResponse {
    services.observer.observe(.decided(provider: point.name, DecisionCounts(response, at: point)), in: scope)
    return response.worded(by: point.provider)
  }

  /// Removes the decisions that `selection` names from the cache, and detaches the lookups of them; returns how many
  /// were cached.
  public func forget(_ selection: DecisionSelection) -> Int { cache.remove(selection) }

  /// Does what `forget` does, for callers, who may have very many decisions and call again and again: yields the thread
  /// in between.
  public func forgetInParts(_ selection: DecisionSelection) async -> Int { await cache.removeInParts(selection) }

  private func decisions(
    _ call: PreauthorizeCall, _ scope: CallScope
  ) async -> (known: [CachedDecision?], arrived: [ResourceName: CachedDecision]) {
    let wait = DecisionWait()
    let plan = cache.begin(
      call.resources, in: call.scope, disabled: call.request.disabledFeatures, at: services.clock.monotonicNow, wait)
    if let lookup = plan.refresh { refresh(plan.expiring, lookup, call, scope.unbounded.untraced) }
    guard plan.awaited > 0 else { return (plan.known, [:]) }
    if let lookup = plan.lookup {
      let budget = Deadline(in: call.point.settings.budget, on: services.clock)
      // The call that waits longest decides how long the lookup may take.
      let bound = scope.deadline.instant.map { Deadline(instant: max($0, budget.instant ?? $0)) } ?? budget
      let link = link(call, scope.unbounded.until(bound))
      cache.carry(lookup, by: scope.task { [self] in _ = await look(up: plan.missing, lookup, call, link) })
    }
    let timer = scope.deadline.remaining(on: services.clock).map { remaining in
      Task { [clock = services.clock] in
        guard (try? await clock.sleep(for: remaining)) != nil else { return }
        wait.end()
      }
    }
    defer { timer?.cancel() }
    let arrived = await withTaskCancellationHandler {
      await wait.decisions(plan.awaited)
    } onCancel: {
      wait.end()
    }
    cache.leave(wait, plan.joined)
    return (plan.known, arrived)
  }

  /// Refreshes cached decisions that are in use and expire soon. No call waits for it: a decision that does not come is
  /// left to expire.
  private func refresh(_ resources: [ResourceName], _ lookup: UInt64, _ call: PreauthorizeCall, _ scope: CallScope) {
    var link = link(call, scope.until(Deadline(in: call.point.settings.budget, on: services.clock)))
    link.isRefresh = true
    let task = scope.task { [self, link] in
      // A refresh of decisions that were removed meanwhile has been cancelled on purpose. The task's own flag does not
      // show that: a task that ends before it is registered is cancelled, too.
      guard let refreshed = await look(up: resources, lookup, call, link) else { return }
      services.observer.observe(
        .decisionsRefreshed(provider: call.point.name, refreshed: refreshed, failed: resources.count - refreshed),
        in: scope)
    }
    cache.carry(lookup, by: task)
  }

  private func link(_ call: PreauthorizeCall, _ scope: CallScope) -> DecisionClient {
    client(of: call.point, for: call.subject, in: scope)
  }

  /// The HTTP client of one lookup, or of other requests to `point` in the name of `subject`.
  package func client(
    of point: DecisionPoint, for subject: DecisionSubject, in scope: CallScope
  ) -> DecisionClient {
    DecisionClient(
      services: services, deviceTokens: deviceTokens, records: records, prover: prover, point: point, subject: subject,
      scope: scope)
  }

  /// Evaluates `resources` in batches, a few at a time; returns for how many there is a decision, nil when the lookup
  /// was abandoned.
  private func look(
    up resources: [ResourceName], _ lookup: UInt64, _ call: PreauthorizeCall, _ link: DecisionClient
  ) async -> Int? {
    let run = BatchEvaluation(point: call.point, link: link, question: call.question)
    let limit = call.point.batchLimit(for: call.subject.uid, at: services.clock.monotonicNow)
    var batches = stride(from: 0, to: resources.count, by: limit).map {
      Array(resources[$0..<min($0 + limit, resources.count)])
    }[...]
    var count: Int? = 0
    await withTaskGroup(of: Int?.self) { group in
      func begin() {
        guard !Task.isCancelled, let batch = batches.popFirst() else { return }
        group.addTask { [self] in
          let verdicts =
            call.isTooLate
            ? batch.map { _ in .fault(DecisionFault(.sessionExpired)) } : await run.verdicts(about: batch)
          let decisions = zip(batch, verdicts).map { ($0, call.kept($1)) }
          guard cache.resolve(lookup, decisions) else { return nil }
          return decisions.count { $0.1.verdict.isDecided }
        }
      }
      for _ in 0..<DecisionPoint.parallelism { begin() }
      while let decided = await group.next() {
        if let sum = count, let decided { count = sum + decided } else { count = nil }
        begin()
      }
    }
    return batches.isEmpty ? count : nil
  }
}

extension DecisionCounts {
  /// The sidecar's codes whose details quote no server.
  private static let plainCodes: Set<String> = [
    "network_error", "requestor_not_configured", "server_response_format_unknown",
  ]

  init(_ response: PreauthorizeResponse, at point: DecisionPoint) {
    var (permits, denies, faults, local, degraded) = (0, 0, 0, 0, 0)
    for decision in response.decisions {
      if decision.source == .local { local += 1 }
      if decision.source == .degradation { degraded += 1 }
      if decision.isAuthorized {
        permits += 1
      } else if decision.error?.isFault == true {
        faults += 1
      } else {
        denies += 1
      }
    }
    self.init(
      permits: permits, denies: denies, faults: faults, local: local, degraded: degraded,
      trouble: response.status.map(Self.trouble), cause: response.status.flatMap { $0.isLocal ? $0.details : nil })
  }

  /// Returns the part of `status` that every user may see: the decision point's own words are about one user.
  private static func trouble(_ status: Status) -> String {
    guard !status.isLocal else {
      return "\(status.code): \((plainCodes.contains(status.code) ? status.details : nil) ?? status.message)"
    }
    let code = EnhancedErrorTable[status.code] == nil ? "an error with a code of its own" : status.code
    return "\(code), status \(status.status)"
  }
}

extension Preauthorizer: ConciseStringConvertible {}
