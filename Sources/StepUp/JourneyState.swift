import AccessManagement
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
    case asked(AuthenticateAnswer.Step)
    /// A browser follows a redirect, with this step instead of one of the access manager's.
    case authorizing([JSONValue])
  }

  let owner: UInt32
  /// The issuer's name in the configuration, and its configuration at that time.
  let issuer: String
  let issuerIdentifier: String
  let accessManager: AccessManager?
  let request: JourneyRequest
  /// The single sign-on token of the user, until the access manager gives another one.
  var token: Secret<String>?
  /// The phases, the current one first.
  var phases: ArraySlice<JourneyPhase>
  var position = Position.begin
  /// The access manager's own cookies, without which a server behind a load balancer does not find the journey.
  var cookies = JourneyCookies()
  var isUpgraded = false
  var txId: String?
  /// The earliest time of the next request.
  var notBefore: MonotonicInstant?
  /// The lifetime of a step; nil for the access manager's own.
  let fixedLife: Duration?
  /// The lifetime of the current step.
  var life = Journeys.usualLife

  init(_ request: JourneyRequest, owner: UInt32, issuer: SessionIssuer, token: Secret<String>?, life: Duration?) {
    self.request = request
    self.owner = owner
    self.issuer = issuer.issuer.name
    issuerIdentifier = issuer.issuer.identifier
    accessManager = issuer.accessManager
    self.token = token
    fixedLife = life
    phases = request.phases[...]
  }

  /// The callbacks of the current step.
  var callbacks: [JSONValue] {
    switch position {
    case .begin: []
    case .asked(let step): step.callbacks
    case .authorizing(let callbacks): callbacks
    }
  }

  /// The access manager's id of it.
  var authID: String? { if case .asked(let step) = position { step.authID } else { nil } }

  /// The identity of its step when it comes again: its questions and its phase, without other texts.
  var shape: [String] {
    ["\(phases.count)"]
      + callbacks.map { "\($0["type"]?.stringValue ?? "")\u{0}\(JourneyCallback($0)?.prompt ?? "")" }
  }

  /// The approximate size in memory: of everything in it without a fixed size.
  var byteCount: Int {
    var texts = [issuer, issuerIdentifier, token?.reveal(), txId, request.tag, authID]
    if case .asked(let step) = position { texts += [step.stage, step.header, step.description] }
    return 1024 + texts.reduce(0) { $0 + ($1?.utf8.count ?? 0) } + JSONValue.array(callbacks).byteCount
      + cookies.byteCount + phases.reduce(0) { $0 + $1.byteCount }
  }
}
