public import HTTPMessages
public import OAuthClient
public import PosternJSON
public import PosternSupport
public import SessionRecords

/// Asks decision points, remembers what they say, and never takes a fault for a permit.
///
/// Outlives configurations: decision points come with every call, so a call ends on the one it began with.
public final class Preauthorizer: Sendable {
  private let upstream: Upstream
  private let deviceTokens: ClientCredentialsTokens
  private let clients: AdobePassClients
  private let prover: DPoPProver
  let board: DecisionCache

  /// A preauthorizer over `transport` that says `userAgent` of itself and takes the sidecar's own tokens from
  /// `deviceTokens`. What it registers is kept in `store`.
  public init(
    transport: any HTTPTransport, clock: any EngineClock, observer: any EngineObserver, userAgent: String,
    deviceTokens: ClientCredentialsTokens, store: any RecordStore = MemoryRecordStore()
  ) {
    upstream = Upstream(transport: transport, clock: clock, observer: observer, userAgent: userAgent)
    self.deviceTokens = deviceTokens
    clients = AdobePassClients(store: store, clock: clock)
    prover = DPoPProver(clock: clock)
    board = DecisionCache()
  }

  /// What `point` says about `subject` and the resources of `request`. Ends by `deadline`, or when the calling task is
  /// cancelled, with what is known then.
  public func preauthorize(
    _ request: PreauthorizeRequest, for subject: DecisionSubject, context: JSONObject = JSONObject(),
    at point: DecisionPoint, deadline: Deadline = .never, trace: TraceContext? = nil
  ) async -> PreauthorizeResponse {
    if let rule = point.settings.degradation, rule.isActive(at: upstream.clock.wallNow) {
      let response = rule.response(to: request)
      upstream.observer.observe(.decided(provider: point.name, DecisionCounts(response, at: point)))
      return response
    }
    let call = PreauthorizeCall(request, subject: subject, context: context, point: point, clock: upstream.clock)
    let outcome = await decisions(call, deadline, trace)
    let response = call.response(outcome.known, outcome.arrived)
    upstream.observer.observe(.decided(provider: point.name, DecisionCounts(response, at: point)))
    return response
  }

  /// Forgets what `selection` names, also what is being asked; tells how many decisions were kept.
  public func forget(_ selection: DecisionSelection) -> Int { board.remove(selection) }

  /// As `forget`, for callers: they may have very many, and ask again and again. Others have turns on the thread
  /// meanwhile.
  public func forgetInTurns(_ selection: DecisionSelection) async -> Int { await board.removeInTurns(selection) }

  private func decisions(
    _ call: PreauthorizeCall, _ deadline: Deadline, _ trace: TraceContext?
  ) async -> (known: [KeptDecision?], arrived: [ResourceName: KeptDecision]) {
    let wait = DecisionWait()
    let beginning = board.begin(
      call.resources, in: call.scope, disabled: call.request.disabledFeatures, at: upstream.clock.monotonicNow, wait)
    if let renewal = beginning.renewal { renew(beginning.expiring, renewal, call) }
    guard beginning.awaited > 0 else { return (beginning.known, [:]) }
    if let lookup = beginning.lookup {
      let budget = Deadline(in: call.point.budget, on: upstream.clock)
      // Whoever waits longest decides how long it may take.
      let bound = deadline.instant.map { Deadline(instant: max($0, budget.instant ?? $0)) } ?? budget
      let link = link(call, bound, trace)
      board.carry(lookup, by: Requesting.task { [self] in _ = await look(up: beginning.missing, lookup, call, link) })
    }
    let timer = deadline.remaining(on: upstream.clock).map { remaining in
      Task { [clock = upstream.clock] in
        guard (try? await clock.sleep(for: remaining)) != nil else { return }
        wait.end()
      }
    }
    defer { timer?.cancel() }
    let arrived = await withTaskCancellationHandler {
      await wait.decisions(beginning.awaited)
    } onCancel: {
      wait.end()
    }
    board.leave(wait, beginning.joined)
    return (beginning.known, arrived)
  }

  /// Asks anew about what is remembered and in use before it expires. Nobody waits: what is not answered is left to
  /// expire.
  private func renew(_ resources: [ResourceName], _ renewal: UInt64, _ call: PreauthorizeCall) {
    var link = link(call, Deadline(in: call.point.budget, on: upstream.clock), nil)
    link.isRenewal = true
    let task = Requesting.task { [self, link] in
      // One that was forgotten meanwhile was ended on purpose. The task's own flag does not tell that: one that is over
      // before it is carried is cancelled, too.
      guard let renewed = await look(up: resources, renewal, call, link) else { return }
      upstream.observer.observe(
        .decisionsRenewed(provider: call.point.name, renewed: renewed, failed: resources.count - renewed))
    }
    board.carry(renewal, by: task)
  }

  private func link(_ call: PreauthorizeCall, _ deadline: Deadline, _ trace: TraceContext?) -> DecisionClient {
    DecisionClient(
      upstream: upstream, deviceTokens: deviceTokens, clients: clients, prover: prover, point: call.point,
      subject: call.subject, deadline: deadline, trace: trace)
  }

  /// Asks about `resources` in batches, a few at a time; tells about how many there is a decision; nil when nobody
  /// wanted them to the end.
  private func look(
    up resources: [ResourceName], _ lookup: UInt64, _ call: PreauthorizeCall, _ link: DecisionClient
  ) async -> Int? {
    let run = BatchEvaluation(point: call.point, link: link, question: call.question)
    let limit = call.point.batchLimit(for: call.subject.owner, at: upstream.clock.monotonicNow)
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
          guard board.resolve(lookup, decisions) else { return nil }
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
