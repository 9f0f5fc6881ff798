package import AuthEngine
package import PosternJSON
import PosternSupport

/// The facts about a call that will be recorded: from its params, and from its handler.
package final class AuditEntry: Sendable {
  private struct State {
    var facts: JSONObject
    var decisions: [JSONValue] = []
    /// The word for the whole call, where its result does not have one.
    var outcome: String?
  }

  package let event: String
  /// The last level of the chain that the call came through.
  let narrowing: Narrowing?
  private let state: Locked<State>

  /// An entry with the names in `params`.
  init(event: String, params: JSONTree?, narrowing: Narrowing? = nil) {
    self.event = event
    self.narrowing = narrowing
    var facts = JSONObject()
    for name in AuditedMethod.namingParams { facts[name] = params?[name].flatMap(AuditFact.bounded) }
    facts["session"] = params?["session"].flatMap(AuditFact.session)
    state = Locked(State(facts: facts))
  }

  /// Adds a fact that the params do not tell.
  package func note(_ name: String, _ value: JSONValue) {
    let value = AuditFact.bounded(value)
    state.withLock { $0.facts[name] = value }
  }

  /// Adds which session was meant.
  package func note(session: SessionHandle) { state.withLock { $0.facts["session"] = AuditFact.session(session) } }

  /// Adds which session a login replaces.
  package func note(replaced session: SessionHandle) {
    state.withLock { $0.facts["replaces"] = AuditFact.session(session) }
  }

  /// Adds the resource, authentication and session of a fetch, with the defaults of what the params leave out.
  package func note(_ server: ResourceServer, _ session: SessionRef?) {
    state.withLock { state in
      state.facts["resource"] = .string(AuditFact.bounded(server.name))
      state.facts["auth"] = .string(server.authentication.rawValue)
      if let handle = session?.handle { state.facts["session"] = AuditFact.session(handle) }
    }
  }

  /// Adds the response to a fetch.
  package func note(_ response: ResourceResponse) {
    state.withLock { state in
      state.outcome = "allowed"
      state.facts["status"] = .integer(Int64(response.status))
      state.facts["attempts"] = .integer(Int64(response.attempts))
      state.facts["tokenRefreshed"] = .bool(response.tokenRefreshed)
      let advices = response.advicesSatisfied.count
      if advices > 0 { state.facts["advicesSatisfied"] = .integer(Int64(advices)) }
    }
  }

  /// Adds what a decision point, or the memory of its decisions, answered.
  package func note(_ response: PreauthorizeResponse, subject: DecisionSubject?) {
    let decisions = response.decisions.map { decision -> JSONValue in
      var members: JSONObject = ["id": .string(AuditFact.bounded(decision.id))]
      let error = decision.error
      members["outcome"] = .string(error.map { $0.isFault ? "fault" : "deny" } ?? "permit")
      if let error = decision.error { members["reason"] = .string(AuditFact.bounded(error.code)) }
      if let details = decision.error?.details { members["policy"] = .string(AuditFact.bounded(details)) }
      if let trace = decision.error?.trace { members["trace"] = .string(AuditFact.bounded(trace)) }
      members["source"] = .string(decision.source.rawValue)
      return .object(members)
    }
    state.withLock { state in
      state.decisions = decisions
      if let subject, !subject.id.isEmpty { state.facts["subject"] = .string(AuditFact.bounded(subject.id)) }
      if let handle = subject?.session?.handle { state.facts["session"] = AuditFact.session(handle) }
      guard let status = response.status else { return }
      state.outcome = "fault"
      state.facts["reason"] = .string(AuditFact.bounded(status.code))
      if let trace = status.trace { state.facts["trace"] = .string(AuditFact.bounded(trace)) }
    }
  }

  /// Adds what Adobe Pass decided about playing resources; never the media tokens.
  package func note(_ decisions: PassDecisions) {
    let decisions = decisions.decisions.map { decision -> JSONValue in
      var members: JSONObject = ["id": .string(AuditFact.bounded(decision.id))]
      members["outcome"] = .string(
        decision.isAuthorized ? "permit" : decision.error?.isFault == false ? "deny" : "fault")
      members["reason"] = (decision.error?.code).map { .string(AuditFact.bounded($0)) }
      members["trace"] = (decision.error?.trace).map { .string(AuditFact.bounded($0)) }
      members["source"] = decision.source.map { .string(AuditFact.bounded($0)) }
      return .object(members)
    }
    state.withLock { $0.decisions = decisions }
  }

  /// Whether `fetchResource` carried no token: nothing was decided then.
  var carriesNoToken: Bool { state.withLock { $0.facts["auth"] == "none" } }

  /// Whether it names something that `scope` hides.
  package func names(outside scope: PeerScope) -> Bool {
    guard !scope.isEverything else { return false }
    let facts = state.withLock { $0.facts }
    func isHidden(_ name: String, _ contains: (String) -> Bool) -> Bool {
      facts[name]?.stringValue.map { !contains($0) } ?? false
    }
    return isHidden("resource", scope.contains(resource:)) || isHidden("issuer", scope.contains(issuer:))
      || isHidden("provider", scope.contains(decisionPoint:))
  }

  /// Facts, decisions and the outcome that was noted.
  package var contents: (facts: JSONObject, decisions: [JSONValue], outcome: String?) {
    state.withLock { ($0.facts, $0.decisions, $0.outcome) }
  }
}
