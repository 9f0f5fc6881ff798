import AuthEngine
import PosternAudit
import PosternConfiguration
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport

/// What of the calls goes into the audit log, and what becomes of a call that cannot be recorded.
struct AuditTrail: Sendable {
  /// How many decisions stand in one record.
  private static let decisionsPerRecord = 64

  let log: AuditLog
  let subjects: AuditConfiguration.Subjects
  let clock: any EngineClock
  private let refusals: RejectionSampler

  /// A trail in `log`.
  init(log: AuditLog, subjects: AuditConfiguration.Subjects, clock: any EngineClock) {
    self.log = log
    self.subjects = subjects
    self.clock = clock
    refusals = RejectionSampler(clock: clock)
  }

  /// Refuses before anything is done what could not be recorded afterwards.
  static let refusal = RPCFault(.auditUnavailable, data: ["retryable": true, "outcome": "not_sent"])
  /// It was done, and is not told.
  private static let withheld = RPCFault(.auditUnavailable, data: ["retryable": false, "outcome": "replied"])

  /// What is to be recorded of a call; nil: nothing.
  func entry(for method: String, _ params: JSONValue?) -> AuditEntry? {
    AuditedMethod.event(of: method).map { AuditEntry(event: $0, params: params) }
  }

  /// Records how a call ended; returns what to answer. `isHidden`: it named something that the caller's rule hides, and
  /// is told that there is no such thing; the record says what it was.
  func record(
    _ entry: AuditEntry, _ method: String, _ outcome: Result<RPCResult, RPCFault>, isHidden: Bool, _ caller: Caller,
    _ trace: CallTrace
  ) async -> Result<RPCResult, RPCFault> {
    for members in records(entry, method, outcome, isHidden, caller, trace) {
      guard await log.append(AuditRecord(at: clock.wallNow, members)) else { return .failure(Self.withheld) }
    }
    return outcome
  }

  /// Records that `peers` refused a call; many of one user together.
  func refused(_ method: String, _ caller: Caller) async {
    guard let more = refusals.admit(caller.peer.uid) else { return }
    var members: JSONObject = [
      "event": "refusal", "outcome": "refused", "reason": .string(RPCErrorCode.peerForbidden.reason),
      "method": .string(method),
    ]
    if more > 0 { members["more"] = .integer(more) }
    add(caller, to: &members)
    _ = await log.append(AuditRecord(at: clock.wallNow, members))
  }

  /// Records how many refusals were not recorded one by one since; for the end.
  func recordRestOfRefusals() {
    for (uid, more) in refusals.takeRest() {
      var members: JSONObject = [
        "event": "refusal", "outcome": "refused", "reason": .string(RPCErrorCode.peerForbidden.reason),
        "more": .integer(more),
      ]
      if let uid { members["uid"] = .integer(Int64(uid)) }
      log.submit(AuditRecord(at: clock.wallNow, members))
    }
  }

  /// Records what happened to a session without a call, or behind one.
  func observe(_ event: SessionEvent) {
    var members: JSONObject
    switch event {
    case .ended(let handle, let issuer, let owner):
      members = ["event": "session", "outcome": "over", "issuer": .string(issuer), "uid": .integer(Int64(owner))]
      members["session"] = AuditFact.session(handle)
    case .steppedUp(let handle, let owner):
      members = ["event": "stepUp", "outcome": "steppedUp", "uid": .integer(Int64(owner))]
      members["session"] = AuditFact.session(handle)
    default: return
    }
    log.submit(AuditRecord(at: clock.wallNow, members))
  }

  /// Records what a caller's delegate said about a user's step-up; nil when it said nothing.
  func delegateAnswered(_ isSatisfied: Bool?, _ session: SessionHandle?, _ caller: Caller) async {
    var members: JSONObject = [
      "event": "stepUp", "outcome": isSatisfied.map { $0 ? "satisfied" : "declined" } ?? "unanswered",
      "method": .string(DelegateMethod.onPolicyAdviceReceived.rawValue),
    ]
    members["session"] = session.map { AuditFact.session($0) }
    add(caller, to: &members)
    _ = await log.append(AuditRecord(at: clock.wallNow, members))
  }

  private func records(
    _ entry: AuditEntry, _ method: String, _ outcome: Result<RPCResult, RPCFault>, _ isHidden: Bool, _ caller: Caller,
    _ trace: CallTrace
  ) -> [JSONObject] {
    var (facts, decisions, noted) = entry.contents
    var members: JSONObject = ["event": .string(entry.event)]
    switch outcome {
    case .success(.value(let result)):
      let (word, told) = AuditedMethod.outcome(of: method, result)
      // Nothing is decided about a request without a token.
      if method == FetchResource.name, entry.carriesNoToken { return [] }
      members["outcome"] = .string(noted ?? word)
      for member in told.members { facts[member.name] = member.value }
    case .success(.text): members["outcome"] = .string(noted ?? "decided")
    case .failure(let fault):
      let code = isHidden ? .peerForbidden : fault.code
      members["outcome"] = code == .peerForbidden ? "refused" : "fault"
      facts["reason"] = .string(code.reason)
      facts["upstream"] = fault.data["upstream"]?["code"].flatMap(AuditFact.bounded)
    }
    members["method"] = .string(method)
    add(caller, to: &members)
    members["traceId"] = .string(trace.traceID)
    hideSubject(&facts)
    for member in facts.members { members[member.name] = member.value }
    guard !decisions.isEmpty else { return [members] }
    var records: [JSONObject] = []
    while !decisions.isEmpty {
      members["decisions"] = .array(Array(decisions.prefix(Self.decisionsPerRecord)))
      decisions.removeFirst(min(Self.decisionsPerRecord, decisions.count))
      records.append(members)
    }
    return records
  }

  private func add(_ caller: Caller, to members: inout JSONObject) {
    members["uid"] = .integer(Int64(caller.peer.uid))
    members["gid"] = .integer(Int64(caller.peer.gid))
    if caller.peer.pid > 0 { members["pid"] = .integer(Int64(caller.peer.pid)) }
    members["connection"] = .integer(Int64(clamping: caller.connection))
  }

  private func hideSubject(_ facts: inout JSONObject) {
    guard let subject = facts["subject"]?.stringValue else { return }
    switch subjects {
    case .plain: break
    case .digest: facts["subject"] = .string(log.digest(of: subject))
    case .none: facts["subject"] = nil
    }
  }
}
