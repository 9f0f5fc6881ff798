import OAuthClient
import PosternJSON
import PosternSupport
import Sessions

/// A journey as it is stored between its steps.
struct JourneyState: Sendable {
  /// The state of the current phase.
  enum Position: Sendable {
    /// The current phase has not started.
    case begin
    /// The access manager waits for these callbacks.
    case step(AuthenticateAnswer.Step)
    /// A browser follows a redirect, with this step instead of one of the access manager's.
    case authorizing([JSONValue])
  }

  /// The servers of a journey, as they were configured when it started.
  struct Servers: Sendable {
    /// The issuer's name in the configuration.
    let issuerName: String
    private let issuerIdentifier: String
    private let accessManager: AccessManager?

    init(_ issuer: SessionIssuer) {
      issuerName = issuer.issuer.name
      issuerIdentifier = issuer.issuer.identifier
      accessManager = issuer.accessManager
    }

    /// Whether the same servers are configured now: input and tokens of the user are sent to no others.
    func areThose(of issuer: SessionIssuer) -> Bool {
      issuer.issuer.identifier == issuerIdentifier && issuer.accessManager == accessManager
    }

    var byteCount: Int { issuerName.utf8.count + issuerIdentifier.utf8.count }
  }

  let uid: UInt32
  let servers: Servers
  let request: JourneyRequest
  /// The single sign-on token of the user, until the access manager gives another one.
  var token: Secret<String>?
  /// The phases, the current one first.
  var phases: ArraySlice<JourneyPhase>
  var position = Position.begin
  /// The access manager's own cookies, without which a server behind a load balancer does not find the journey.
  var cookies = JourneyCookies()
  /// The result so far.
  var end: JourneyEnd
  /// The earliest time of the next request.
  var notBefore: MonotonicInstant?
  /// The lifetime of a step; nil for the access manager's own.
  let fixedLife: Duration?

  init(_ request: JourneyRequest, uid: UInt32, issuer: SessionIssuer, token: Secret<String>?, life: Duration?) {
    self.request = request
    self.uid = uid
    servers = Servers(issuer)
    end = JourneyEnd(txId: nil, session: request.session, isUpgraded: false, tag: request.tag)
    self.token = token
    fixedLife = life
    phases = request.phases[...]
  }

  /// Starts `phases` instead of the current one, which is completed.
  mutating func start(_ next: ArraySlice<JourneyPhase>) {
    end.txId = phases.first?.txId ?? end.txId
    phases = next
    position = .begin
    notBefore = nil
  }

  /// The callbacks of the current step.
  var callbacks: [JSONValue] {
    switch position {
    case .begin: []
    case .step(let step): step.callbacks
    case .authorizing(let callbacks): callbacks
    }
  }

  /// The access manager's id of it.
  var authID: String? { if case .step(let step) = position { step.authID } else { nil } }

  /// The identity of its step when it comes again: its questions and its phase, without other texts.
  var shape: [String] {
    ["\(phases.count)"]
      + callbacks.map { "\($0["type"]?.stringValue ?? "")\u{0}\(JourneyCallback($0)?.prompt ?? "")" }
  }

  /// The approximate size in memory: of everything in it without a fixed size.
  var byteCount: Int {
    var texts = [token?.reveal(), end.txId, request.tag, authID]
    if case .step(let step) = position { texts += [step.stage, step.header, step.description] }
    return 1024 + servers.byteCount + texts.reduce(0) { $0 + ($1?.utf8.count ?? 0) }
      + JSONValue.array(callbacks).byteCount
      + cookies.byteCount + phases.reduce(0) { $0 + $1.byteCount }
  }
}

// MARK: - The delay that the access manager requested

extension JourneyState {
  /// Whether the delay is over at `deadline`.
  func canWait(until deadline: Deadline) -> Bool {
    guard let notBefore, let end = deadline.instant else { return true }
    return notBefore < end
  }

  /// Waits for the end of the delay.
  func wait(until deadline: Deadline, on clock: any EngineClock) async throws(JourneyError) {
    guard let notBefore else { return }
    let now = clock.monotonicNow
    guard notBefore > now else { return }
    guard canWait(until: deadline) else {
      throw JourneyError(.deadlineExceeded, "the access manager requires a wait until after the deadline")
    }
    do {
      try await clock.sleep(for: notBefore - now)
    } catch {
      throw JourneyError(.cancelled, "cancelled while waiting for the access manager")
    }
  }
}

extension JSONValue {
  /// The approximate size in memory: small values take many times their text.
  var byteCount: Int {
    switch self {
    case .null, .bool, .integer, .real: 40
    case .string(let text): 40 + text.utf8.count
    case .array(let elements): elements.reduce(72) { $0 + $1.byteCount }
    case .object(let object): object.members.reduce(72) { $0 + 48 + $1.name.utf8.count + $1.value.byteCount }
    }
  }
}

extension JourneyState {
  /// Returns body and query. The access manager takes realm and tree of a step from its `authId`; a suspended journey
  /// has only its name.
  func message(
    for phase: JourneyPhase, submitting submission: JourneySubmission
  ) -> (body: JSONValue, query: [(name: String, value: String)]) {
    var query: [(name: String, value: String)] = []
    switch phase {
    case .tree(let name):
      if let name { query += [(name: "authIndexType", value: "service"), (name: "authIndexValue", value: name)] }
    case .composite(let advices), .releasing(let advices, _):
      query += [
        (name: "authIndexType", value: "composite_advice"),
        (name: "authIndexValue", value: CompositeAdvice.xml(advices) ?? ""),
      ]
    case .suspended(let id): query.append((name: "suspendedId", value: id))
    case .authorization: break
    }
    if request.isWithoutSession { query.append((name: "noSession", value: "true")) }
    if request.isForced { query.append((name: "ForceAuth", value: "true")) }
    switch submission {
    case .suspended(let id): return ([:], [(name: "suspendedId", value: id)])
    case .callbacks(let callbacks, let parameters):
      guard case .step(let step) = position else { return ([:], query) }
      var body: JSONObject = ["authId": .string(step.authID), "callbacks": .array(callbacks)]
      if let stage = step.stage { body["stage"] = .string(stage) }
      if let header = step.header { body["header"] = .string(header) }
      if let description = step.description { body["description"] = .string(description) }
      if case .suspended = phase { query.removeAll { $0.name == "suspendedId" } }
      return (.object(body), query + parameters)
    case .begin, .authorized: return ([:], query)
    }
  }
}
