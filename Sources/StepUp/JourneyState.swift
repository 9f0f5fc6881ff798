import AccessManagement
import OAuthClient
import PosternJSON
import PosternSupport
import Sessions

/// A journey on its way, as it is kept between its steps.
struct JourneyState: Sendable {
  /// Where it stands.
  enum Position: Sendable {
    /// Nothing has been asked of the current phase.
    case begin
    /// The access manager waits for these callbacks.
    case asked(AuthenticateAnswer.Step)
    /// A browser is on its way, with this step in place of the access manager's.
    case authorizing([JSONValue])
  }

  let owner: UInt32
  /// The issuer's name in the configuration, and what it was then.
  let issuer: String
  let issuerIdentifier: String
  let accessManager: AccessManager?
  let request: JourneyRequest
  /// By what the access manager knows the user, until it gives something else.
  var token: Secret<String>?
  /// The current phase first.
  var phases: ArraySlice<JourneyPhase>
  var position = Position.begin
  /// Cookies of the access manager's own, without which a server behind a balancer does not find the journey.
  var cookies = JourneyCookies()
  var isUpgraded = false
  var txId: String?
  /// When the access manager wants to hear of it again, at the earliest.
  var notBefore: MonotonicInstant?
  /// How long a step is kept; nil: as long as the access manager's own.
  let fixedLife: Duration?
  /// How long this one is.
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

  /// What the user is asked.
  var callbacks: [JSONValue] {
    switch position {
    case .begin: []
    case .asked(let step): step.callbacks
    case .authorizing(let callbacks): callbacks
    }
  }

  /// What the access manager calls it.
  var authID: String? { if case .asked(let step) = position { step.authID } else { nil } }

  /// By what its step is known when it comes again: what is asked for in which phase, not what else is said.
  var shape: [String] {
    ["\(phases.count)"]
      + callbacks.map { "\($0["type"]?.stringValue ?? "")\u{0}\(JourneyCallback($0)?.prompt ?? "")" }
  }

  /// About how much memory it takes: everything in it that has no size of its own.
  var byteCount: Int {
    var texts = [issuer, issuerIdentifier, token?.reveal(), txId, request.tag, authID]
    if case .asked(let step) = position { texts += [step.stage, step.header, step.description] }
    return 1024 + texts.reduce(0) { $0 + ($1?.utf8.count ?? 0) } + JSONValue.array(callbacks).byteCount
      + cookies.byteCount + phases.reduce(0) { $0 + $1.byteCount }
  }
}
