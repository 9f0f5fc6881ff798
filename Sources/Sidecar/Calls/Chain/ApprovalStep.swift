import AuthEngine
import PosternCrypto
import PosternJSON
import PosternJSONRPC
import PosternObservability
import PosternProtocol
package import PosternSupport

/// Puts calls that act for the user, and come through an endpoint with `approval`, to the endpoint's maker before
/// anything is done (`delegate.approveCall`): once for each such level, the last one first.
///
/// A call that is not approved, for whatever reason, is rejected. `once` is good for one call: others that put the same
/// question at the same time share its answers `always` and `no`. With an audit log each question and what came of it
/// is recorded, and without its record an answer is good for nothing.
package final class ApprovalStep: Sendable {
  /// How long the maker has to answer.
  package static let patience = Duration.seconds(60)
  /// How many different questions of an endpoint may be open, and how many calls may wait for their answers.
  package static let (openQuestions, waitingCalls) = (4, 16)
  /// How long a question that was answered `no` is not put again.
  package static let pause = Duration.seconds(10)
  /// How many answers `always`, and how many `no`, an endpoint keeps.
  package static let keptAnswers = 128
  /// The most bytes of a text in a question, and of all of it: what is longer could not be judged.
  package static let (textBytes, questionBytes) = (4096, 64 << 10)

  private let levels = Locked<[String: ApprovingLevel]>([:])
  private let counts = Locked<[String: UInt64]>([:])
  private let clock: any EngineClock
  private let trail: AuditTrail?

  package init(clock: any EngineClock, trail: AuditTrail? = nil) {
    self.clock = clock
    self.trail = trail
  }

  /// How often calls were put to makers, by answer; `none`: there was none in time.
  package var answers: [String: UInt64] { counts.withLock { $0 } }

  /// From here on the calls through the endpoint `id` are put to `maker`.
  package func require(_ id: String, of maker: PeerConnection) {
    let level = ApprovingLevel(maker, clock, trail)
    levels.withLock { $0[id] = level }
  }

  /// The endpoint has ended, and its calls are rejected.
  package func forget(_ id: String) { levels.withLock { _ = $0.removeValue(forKey: id) } }

  /// How many endpoints require approvals.
  package var levelCount: Int { levels.withLock { $0.count } }

  /// Whether calls of `method` through `narrowing` need an approval.
  package func requires(_ method: String, through narrowing: Narrowing?) -> Bool {
    guard let narrowing, !ProtocolMethods.traits(of: method).contains(.needsNoApproval) else { return false }
    let chain = narrowing.chain
    return levels.withLock { levels in chain.contains { levels[$0.id] != nil } }
  }

  /// Runs `body` when every level has approved the call. The makers are shown what `preview` makes of its params; nil:
  /// the params themselves.
  func whenApproved(
    _ method: String, _ params: CallParams, _ preview: MethodTable.Preview?, _ context: CallContext,
    _ body: () async -> Result<RPCResult, RPCFault>
  ) async -> Result<RPCResult, RPCFault> {
    guard context.needsApproval, let narrowing = context.narrowing else { return await body() }
    do throws(RPCFault) {
      let given = params.current
      let question = try CallQuestion(method, given, try await preview?(given, context))
      let chain = narrowing.chain
      for position in chain.indices.reversed() {
        guard let level = levels.withLock({ $0[chain[position].id] }) else { continue }
        let answer = try await level.answer(question, chain[position...], context)
        counts.withLock { $0[answer?.rawValue ?? "none", default: 0] += 1 }
        guard let answer, answer != .no else { throw Self.rejection }
      }
      context.approved = question.user
    } catch {
      return .failure(error)
    }
    return await body()
  }

  /// The error of a call that was not approved.
  static let rejection = RPCFault(
    .peerForbidden, "The call was not approved by the endpoint's maker",
    outcome: .notSent, isRetryable: false)

  /// The error of a call whose texts are too long to be put to anybody.
  fileprivate static let unshown = RPCFault(
    .peerForbidden,
    "The call was not approved: a name or URL of it has more than \(textBytes) bytes, or characters without a shape",
    outcome: .notSent, isRetryable: false)
}

/// An endpoint whose calls are put to its maker.
private final class ApprovingLevel: Sendable {
  enum Answer: String, Sendable {
    case once, always, no
  }

  /// An answer, which one call may use when it is `once`.
  private final class Given: Sendable {
    let answer: Answer?
    private let isUsed = Locked(false)

    init(_ answer: Answer?) { self.answer = answer }

    /// Whether this is the first use.
    func use() -> Bool {
      isUsed.withLock { isUsed in
        defer { isUsed = true }
        return !isUsed
      }
    }
  }

  /// The word for a maker that answers no more.
  private static let gone = "gone"

  private struct State {
    /// Questions that were answered `always`, each for one chain, with the last level of that.
    var always: [[UInt8]: Narrowing] = [:]
    /// Questions that were answered `no`, whatever the chain, with the time from which they may be put again.
    var rejected: [[UInt8]: MonotonicInstant] = [:]
    /// The calls that wait, by question.
    var waiting: [[UInt8]: Int] = [:]
    var waitingCount = 0
    /// Whether it is recorded that the maker is gone.
    var isGoneRecorded = false
  }

  private let maker: PeerConnection
  private let clock: any EngineClock
  private let trail: AuditTrail?
  private let state = Locked(State())
  private let questions: SingleFlight<[UInt8], Given, RPCFault>

  init(_ maker: PeerConnection, _ clock: any EngineClock, _ trail: AuditTrail?) {
    self.maker = maker
    self.clock = clock
    self.trail = trail
    questions = SingleFlight(clock: clock, cancelsAbandonedRuns: true) { end in
      end == .cancelled ? RPCFault(.requestCancelled) : ApprovalStep.rejection
    }
  }

  /// The maker's answer; nil when there is none.
  func answer(
    _ question: CallQuestion, _ chain: ArraySlice<Narrowing>, _ context: CallContext
  ) async throws(RPCFault) -> Answer? {
    let key = question.digest
    guard maker.delegate(for: .approveCall) != nil else {
      await recordGone(question.params(chain), context)
      return nil
    }
    // The question names the chain, and so does its answer: calls that come through another one below share none.
    let flight = HashFunction.sha256.hash(key + chain.flatMap { Array($0.id.utf8) })
    let now = clock.monotonicNow
    let known = state.withLock { state -> Answer? in
      if state.always[flight] != nil { return .always }
      return state.rejected[key].map { $0 > now } ?? false ? .no : nil
    }
    if let known { return known }
    guard question.isReadable else { throw ApprovalStep.unshown }
    try enter(flight)
    defer { leave(flight) }
    while true {
      let given = try await questions.value(
        for: flight, deadline: context.deadline, on: context.scope.executor
      ) { [self] () async throws(RPCFault) in Given(try await put(question.params(chain), context))
      }
      switch given.answer {
      case .once where !given.use(): continue
      case .always: keep(flight, chain.last)
      case .no: keepRejected(key)
      default: break
      }
      return given.answer
    }
  }

  private func put(_ params: JSONObject, _ context: CallContext) async throws(RPCFault) -> Answer? {
    guard trail?.isUsable ?? true else { throw AuditTrail.rejection }
    guard let conversation = maker.delegate(for: .approveCall) else { return nil }
    let end = clock.monotonicNow + ApprovalStep.patience
    let value = await DelegateQuestion.ask(
      conversation, .approveCall, params, within: ApprovalStep.patience, by: .never, clock)
    let answer = value?["answer"]?.stringValue.flatMap(Answer.init)
    let outcome = answer?.rawValue ?? reason(value, end)
    state.withLock { $0.isGoneRecorded = outcome == Self.gone }
    guard await record(params, outcome, context) else { throw AuditTrail.rejection }
    return answer
  }

  /// The word for a question without an answer that counts.
  private func reason(_ value: JSONValue?, _ end: MonotonicInstant) -> String {
    if value != nil { return "invalid" }
    if Task.isCancelled { return "withdrawn" }
    if clock.monotonicNow >= end { return "expired" }
    return maker.delegate(for: .approveCall) == nil ? Self.gone : "invalid"
  }

  /// False when it could not be recorded, and nothing may come of the answer.
  private func record(_ params: JSONObject, _ outcome: String, _ context: CallContext) async -> Bool {
    await trail?.approval(outcome, of: params, by: maker, context.caller, context.narrowing, context.trace) ?? true
  }

  /// Records that there is no maker to put calls to: of the first call only, since a child may go on calling.
  private func recordGone(_ params: JSONObject, _ context: CallContext) async {
    let isFirst = state.withLock { state in
      defer { state.isGoneRecorded = true }
      return !state.isGoneRecorded
    }
    if isFirst { _ = await record(params, Self.gone, context) }
  }

  private func enter(_ flight: [UInt8]) throws(RPCFault) {
    let isIn = state.withLock { state in
      guard state.waitingCount < ApprovalStep.waitingCalls,
        state.waiting[flight] != nil || state.waiting.count < ApprovalStep.openQuestions
      else { return false }
      state.waiting[flight, default: 0] += 1
      state.waitingCount += 1
      return true
    }
    guard isIn else { throw .overloaded("Too many calls of this endpoint wait for approval", retryAfter: .seconds(1)) }
  }

  private func leave(_ flight: [UInt8]) {
    state.withLock { state in
      state.waiting.countDown(flight)
      state.waitingCount -= 1
    }
  }

  private func keepRejected(_ key: [UInt8]) {
    let now = clock.monotonicNow
    state.withLock { state in
      if state.rejected.count >= ApprovalStep.keptAnswers { state.rejected = state.rejected.filter { $0.value > now } }
      if state.rejected.count < ApprovalStep.keptAnswers { state.rejected[key] = now + ApprovalStep.pause }
    }
  }

  private func keep(_ flight: [UInt8], _ last: Narrowing?) {
    let now = clock.monotonicNow
    state.withLock { state in
      if state.always.count >= ApprovalStep.keptAnswers {
        state.always = state.always.filter { !$0.value.isOver(at: now) }
      }
      if state.always.count < ApprovalStep.keptAnswers { state.always[flight] = last }
    }
  }
}
