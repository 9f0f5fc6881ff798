import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport

/// What bounds calls beside access: how often, how many at a time, and whose turn it is.
extension ConnectionDispatcher {
  /// What is asked to find out whether the sidecar is well.
  static let probes: Set<String> = [Health.name, GetInfo.name]
  /// What takes no place and no turn: what must be answered, or change something, when nothing else goes on. Lists of
  /// tasks have turns of their own: they show what there is to be ended when no place is free.
  static let free: Set<String> = [ReloadConfig.name, Health.name, ListTasks.name]
  /// By what a caller answers a question about a user's step-up: the call that the question belongs to has its place,
  /// and is not over before.
  static let answering: Set<String> = [Authenticate.name, AuthenticateWithAdvice.name]

  /// Whether `method` takes no place: for each question that the sidecar has put to the caller's uid, and that is not
  /// answered yet, one call goes without.
  func beginFree(_ method: String) -> LimitExemption? {
    if Self.free.contains(method) { return .always }
    guard Self.answering.contains(method) else { return nil }
    let uid = caller.peer.uid
    let questions = service.hub.connections.reduce(0) {
      $0 + ($1.peer.uid == uid ? $1.session?.openQuestionCount ?? 0 : 0)
    }
    return service.ledger.beginAnswering(uid: uid, among: questions) ? .answering : nil
  }

  func endFree(_ pass: LimitExemption?) {
    if pass == .answering { service.ledger.endAnswering(uid: caller.peer.uid) }
  }

  /// Why a call takes no place.
  enum LimitExemption {
    /// Nothing of its kind does.
    case always
    /// Another one waits for what it does.
    case answering
  }
  /// When to come again, where nobody can know.
  static let pause = Duration.milliseconds(100)

  static func overloaded(_ message: String, retryAfter wait: Duration) -> RPCFault {
    RPCFault(
      .overloaded, message,
      data: ["retryable": true, "retryAfterMs": .integer(max(1, wait.wholeMillisecondsUp)), "outcome": "not_sent"])
  }

  /// Runs `body` when there is a place among the calls under way; at once when it needs none.
  func inTurn(
    _ context: CallContext, isFree: Bool, _ body: () async -> Result<RPCResult, RPCFault>
  ) async -> Result<RPCResult, RPCFault> {
    guard !isFree else { return await body() }
    let holder = caller.requester
    do throws(FairGate.Refusal) {
      let waited = try await service.gate.enter(holder, until: context.deadline)
      if waited > .zero { service.metrics.callWaited(waited) }
    } catch {
      return .failure(refused(error))
    }
    defer { service.gate.leave(holder) }
    return await body()
  }

  /// By the same rules as `dispatch`, and without counting the call.
  func refuses(method: String) -> Bool {
    guard let rule = service.runtime.access.rule(for: caller.peer), rule.allows(method: method),
      service.methods[method] != nil
    else { return true }
    return service.ledger.wouldRefuse(rule, uid: caller.peer.uid, isProbe: Self.probes.contains(method))
  }

  /// Counts as a call all the same.
  func refusedUnseen() {
    service.metrics.callRefused("connection")
    if let rule = service.runtime.access.rule(for: caller.peer) {
      _ = service.ledger.admit(rule, uid: caller.peer.uid, isProbe: false)
    }
  }

  private func refused(_ refusal: FairGate.Refusal) -> RPCFault {
    switch refusal {
    case .cancelled: return RPCFault(.requestCancelled)
    case .deadlinePassed: return RPCFault(.deadlineExceeded, data: ["retryable": true, "outcome": "not_sent"])
    case .full, .late:
      service.metrics.callRefused(refusal.rawValue)
      return Self.overloaded("Too many calls under way", retryAfter: Self.pause)
    }
  }
}
