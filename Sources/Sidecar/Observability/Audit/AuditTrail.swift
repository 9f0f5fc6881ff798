package import AuthEngine
package import PosternConfiguration
package import PosternJSON
package import PosternJSONRPC
package import PosternObservability
package import PosternProtocol
package import PosternSupport

/// Writes calls to the audit log, and decides about calls that cannot be recorded.
package struct AuditTrail: Sendable {
  /// How many decisions one record contains.
  private static let decisionsPerRecord = 64

  package let log: AuditLog
  package let subjects: AuditConfiguration.Subjects
  package let clock: any EngineClock
  private let rejections: RejectionSampler

  /// A trail in `log`.
  package init(log: AuditLog, subjects: AuditConfiguration.Subjects, clock: any EngineClock) {
    self.log = log
    self.subjects = subjects
    self.clock = clock
    rejections = RejectionSampler(clock: clock)
  }

  /// The error of a call that was not started because it could not be recorded.
  package static let rejection = RPCFault(.auditUnavailable, outcome: .notSent, isRetryable: true)
  /// The error of a call that was carried out and could not be recorded.
  private static let withheld = RPCFault(.auditUnavailable, outcome: .replied, isRetryable: false)

  /// The entry of a call; nil when it is not recorded.
  package func entry(for method: String, _ params: JSONTree?, _ narrowing: Narrowing? = nil) -> AuditEntry? {
    AuditedMethod.event(of: method).map { AuditEntry(event: $0, params: params, narrowing: narrowing) }
  }

  /// Records how a call ended; returns what to answer. `isHidden`: it named something that the caller's rule hides, and
  /// gets the error for an unknown name; the record contains the name.
  package func record(
    _ entry: AuditEntry, _ method: String, _ outcome: Result<RPCResult, RPCFault>, isHidden: Bool,
    _ caller: PeerConnection,
    _ trace: CallTrace
  ) async -> Result<RPCResult, RPCFault> {
    for members in records(entry, method, outcome, isHidden, caller, trace) {
      guard await log.append(AuditRecord(at: clock.wallNow, members)) else { return .failure(Self.withheld) }
    }
    return outcome
  }

  /// Records that `peers` rejected a call; many of one user together.
  package func rejected(_ method: String, _ caller: PeerConnection) async {
    guard let more = rejections.admit(caller.peer.uid) else { return }
    var members: JSONObject = [
      "event": "refusal", "outcome": "refused", "reason": .string(ErrorCode.peerForbidden.reason),
      "method": .string(method),
    ]
    if more > 0 { members["more"] = .integer(more) }
    add(caller, caller.narrowing, to: &members)
    _ = await log.append(AuditRecord(at: clock.wallNow, members))
  }

  /// Records the number of rejections that were not recorded one by one, before the log is closed.
  func recordPendingRejections() {
    for (uid, more) in rejections.takeRest() {
      var members: JSONObject = [
        "event": "refusal", "outcome": "refused", "reason": .string(ErrorCode.peerForbidden.reason),
        "more": .integer(more),
      ]
      if let uid { members["uid"] = .integer(Int64(uid)) }
      log.submit(AuditRecord(at: clock.wallNow, members))
    }
  }

  /// Records what happened to a session without a call, or behind one.
  package func observe(_ event: SessionEvent) {
    var members: JSONObject
    switch event {
    case .ended(let handle, let issuer, let uid):
      members = ["event": "session", "outcome": "over", "issuer": .string(issuer), "uid": .integer(Int64(uid))]
      members["session"] = AuditFact.session(handle)
    case .steppedUp(let handle, let uid):
      members = ["event": "stepUp", "outcome": "steppedUp", "uid": .integer(Int64(uid))]
      members["session"] = AuditFact.session(handle)
    case .refreshed, .expiring, .refreshFailed, .idTokenRejected, .troubled: return
    }
    log.submit(AuditRecord(at: clock.wallNow, members))
  }

  /// Records that an issuer accepts another of the client's credentials: the one of `key`, in its section.
  package func credentialChanged(of issuer: String, to key: String) {
    log.submit(
      AuditRecord(
        at: clock.wallNow,
        ["event": "credential", "outcome": "changed", "issuer": .string(issuer), "credential": .string(key)]))
  }

  /// Records a delegate's answer about a user's step-up; nil without an answer.
  func delegateAnswered(_ isSatisfied: Bool?, _ session: SessionHandle?, _ caller: PeerConnection) async {
    var members: JSONObject = [
      "event": "stepUp", "outcome": isSatisfied.map { $0 ? "satisfied" : "declined" } ?? "unanswered",
      "method": .string(DelegateMethod.onPolicyAdviceReceived.rawValue),
    ]
    members["session"] = session.map { AuditFact.session($0) }
    add(caller, caller.narrowing, to: &members)
    _ = await log.append(AuditRecord(at: clock.wallNow, members))
  }

  /// Records what came of a question to the maker of an endpoint: an answer, or why there is none. False when the call
  /// must not go on without the record.
  package func approval(
    _ outcome: String, of question: JSONObject, by maker: PeerConnection, _ caller: PeerConnection,
    _ narrowing: Narrowing?, _ trace: CallTrace
  ) async -> Bool {
    var members: JSONObject = ["event": "approval", "outcome": .string(outcome)]
    for name in ["method", "endpoint", "httpMethod"] { members[name] = question[name].flatMap(AuditFact.bounded) }
    members["maker"] = .integer(Int64(clamping: maker.connection))
    add(caller, narrowing, to: &members)
    members["traceId"] = .string(trace.traceID)
    let (facts, _, _) = AuditEntry(event: "approval", params: JSONTree(.object(question))).contents
    for member in facts.members { members[member.name] = member.value }
    return await log.append(AuditRecord(at: clock.wallNow, members))
  }

  private func records(
    _ entry: AuditEntry, _ method: String, _ outcome: Result<RPCResult, RPCFault>, _ isHidden: Bool,
    _ caller: PeerConnection,
    _ trace: CallTrace
  ) -> [JSONObject] {
    var (facts, decisions, noted) = entry.contents
    var members: JSONObject = ["event": .string(entry.event)]
    // Nothing is decided about a request without a token.
    if case .success = outcome, method == FetchResource.name, entry.carriesNoToken { return [] }
    switch outcome {
    case .success(.value(let result)), .success(.passing(let result, _)):
      let (word, more) = AuditedMethod.outcome(of: method, result)
      members["outcome"] = .string(noted ?? word)
      for member in more.members { facts[member.name] = member.value }
    case .success(.text): members["outcome"] = .string(noted ?? "decided")
    case .failure(let fault):
      let code = isHidden ? .peerForbidden : fault.code
      members["outcome"] = code == .peerForbidden ? "refused" : "fault"
      facts["reason"] = .string(code.reason)
      facts["upstream"] = fault.upstream?.code.flatMap { AuditFact.bounded(.string($0)) }
    }
    members["method"] = .string(method)
    add(caller, entry.narrowing, to: &members)
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

  private func add(_ caller: PeerConnection, _ narrowing: Narrowing?, to members: inout JSONObject) {
    members["uid"] = .integer(Int64(caller.peer.uid))
    members["gid"] = .integer(Int64(caller.peer.gid))
    if caller.peer.pid > 0 { members["pid"] = .integer(Int64(caller.peer.pid)) }
    members["connection"] = .integer(Int64(clamping: caller.connection))
    guard let narrowing else { return }
    members["chain"] = .array(
      narrowing.chain.map { level in
        var entry: JSONObject = ["endpoint": .string(level.id)]
        entry["label"] = level.label.map { .string($0) }
        return .object(entry)
      })
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

extension AuditTrail {
  /// Whether calls that must be recorded may start now.
  package var isUsable: Bool { log.isUsable }

  /// How the log is.
  package var condition: AuditLog.Condition { log.condition }

  /// The log's check: while it cannot be written, nothing that must be recorded works with `failClosed`, and without it
  /// nothing is recorded.
  package var check: Health.Check {
    guard let failure = log.condition.failure else { return Health.Check(status: .ok) }
    return Health.Check(status: log.failClosed ? .down : .degraded, detail: "records cannot be written: \(failure)")
  }
}
