public import AuthEngine
public import PosternJSON
public import PosternSupport

/// `preauthorize`: may the user have these resources.
public enum Preauthorize: RPCMethod {
  public static let name = "preauthorize"
  public static let bounds: PeerBounds = [.issuers, .preauthorization]
  public static let chain: ChainRule = .checked
  public static let summary = "Returns a decision point's decisions about resources"
  public static let explanation =
    "A hint for what to show, never a gate in front of the resource. Decisions come in the order of the resources. A deny and a fault differ: both are authorized false with an error, and action retry or status 0 marks the fault. A missing session and an unreachable decision point are results, too: outcome failure. Large lists are split, a batch that one resource spoils is taken apart, and permits are cached for a while."
  public static let resultSummary = "A decision for each resource, or the status with the reason why there is none"
  public static let errors: [ErrorCode] = [.storeUnavailable]

  public struct Params: RPCObject {
    public var resources: [String]
    public var disableFeatures: [PreauthorizeRequest.Feature]?
    public var provider: String?
    public var session: String?
    public var context: ParameterObject?
    public var timeoutMs: Int?

    public static let memberDocs = [
      "resources": "Ids or MRSS fragments, 1 to 10000; one decision for each, duplicates included",
      "disableFeatures":
        "LOCAL_CACHE: request decisions, whatever is cached here. REMOTE_CACHE: the decision point is not to answer from its cache, either",
      "provider": "A configured decision point; may be left out when only one is configured",
      "session":
        "The session whose user it is about, or `only`, the caller's only live one at the provider's issuer; without, the result is the failure authentication_session_missing",
      "context":
        "Passed on to the decision point. With a provider that has no issuer, context.subject names the subject: an id, or an object with id, type and properties. With adobe-pass context.ip is the end user's IP address, and context.pass has mvpd, device, visitorId, platform, serviceToken and partner, as in pass.listProfiles: the MVPD is that one, else the remembered one, else the configured one",
      "timeoutMs": "Bounds the call in milliseconds, at most 600000; the resources left then are network_error",
    ]
  }

  /// Why something is not a permit.
  public struct Status: RPCObject {
    public let status: Int
    public let code: String
    public let message: String
    public let details: String?
    public let helpUrl: String?
    public let trace: String?
    public let action: String

    /// A status of the given parts.
    public init(
      status: Int, code: String, message: String, details: String?, helpUrl: String?, trace: String?, action: String
    ) {
      self.status = status
      self.code = code
      self.message = message
      self.details = details
      self.helpUrl = helpUrl
      self.trace = trace
      self.action = action
    }

    public static let memberDocs = [
      "status": "The HTTP-style status; 0 when the decision point did not say this",
      "code": "Error code; new codes may be added",
      "message": "For people",
      "details": "The decision point's own words",
      "helpUrl": "Where to read more",
      "trace": "The decision point's request id, for its support",
      "action":
        "Suggested action: none, configuration, application-registration, authentication, authorization, degradation, retry, retry-after; new ones may be added",
    ]
  }

  /// The decision about one resource.
  public struct Decision: RPCObject {
    public let id: String
    public let authorized: Bool
    public let error: Status?
    public let source: AuthEngine.Decision.Source
    public let ageMs: Int64
    public let expiresAt: String?

    /// A decision, which permits unless there is an error.
    public init(
      id: String, error: Status?, source: AuthEngine.Decision.Source, ageMs: Int64, expiresAt: String?
    ) {
      self.id = id
      authorized = error == nil
      self.error = error
      self.source = source
      self.ageMs = ageMs
      self.expiresAt = expiresAt
    }

    public static let memberDocs = [
      "id": "The resource as the call named it",
      "authorized": "true for a permit; for nothing else",
      "error": "Why it is no permit; always there then",
      "source": "local: cached here; backend: the decision point; degradation: an operator's rule",
      "ageMs": "Age of the decision",
      "expiresAt": "When the cached decision expires; left out when it is not cached",
    ]
  }

  public struct Result: WrittenResult {
    public let outcome: PreauthorizeResponse.Outcome
    public let decisions: [Decision]
    public let status: Status?
    public let unhonoredFeatures: [PreauthorizeRequest.Feature]

    /// A result of the given parts.
    public init(
      outcome: PreauthorizeResponse.Outcome, decisions: [Decision], status: Status?,
      unhonoredFeatures: [PreauthorizeRequest.Feature]
    ) {
      self.outcome = outcome
      self.decisions = decisions
      self.status = status
      self.unhonoredFeatures = unhonoredFeatures
    }

    public static let memberDocs = [
      "outcome": "response: the decision point answered, if only with an error; failure: it could not be reached",
      "decisions": "One for each resource, in the order of the request; empty when there is a status",
      "status": "Why there are no decisions",
      "unhonoredFeatures": "Features of disableFeatures that this decision point cannot switch off",
    ]
  }
}

extension Preauthorize.Result {
  public func write(to text: borrowing JSONComposer) {
    text.literal(#"{"outcome":"#)
    text.string(outcome.rawValue)
    text.literal(#","decisions":["#)
    for (index, decision) in decisions.enumerated() {
      if index > 0 { text.literal(",") }
      decision.write(to: text)
    }
    text.literal("]")
    if let status {
      text.literal(#","status":"#)
      status.write(to: text)
    }
    text.literal(#","unhonoredFeatures":["#)
    for (index, feature) in unhonoredFeatures.enumerated() {
      if index > 0 { text.literal(",") }
      text.string(feature.rawValue)
    }
    text.literal("]}")
  }
}

extension Preauthorize.Decision {
  fileprivate func write(to text: borrowing JSONComposer) {
    text.literal(#"{"id":"#)
    text.string(id)
    text.literal(authorized ? #","authorized":true"# : #","authorized":false"#)
    if let error {
      text.literal(#","error":"#)
      error.write(to: text)
    }
    text.literal(#","source":"#)
    text.string(source.rawValue)
    text.literal(#","ageMs":"#)
    text.integer(ageMs)
    if let expiresAt {
      text.literal(#","expiresAt":"#)
      text.string(expiresAt)
    }
    text.literal("}")
  }
}

extension Preauthorize.Status {
  fileprivate func write(to text: borrowing JSONComposer) {
    text.literal(#"{"status":"#)
    text.integer(Int64(status))
    text.literal(#","code":"#)
    text.string(code)
    text.literal(#","message":"#)
    text.string(message)
    if let details {
      text.literal(#","details":"#)
      text.string(details)
    }
    if let helpUrl {
      text.literal(#","helpUrl":"#)
      text.string(helpUrl)
    }
    if let trace {
      text.literal(#","trace":"#)
      text.string(trace)
    }
    text.literal(#","action":"#)
    text.string(action)
    text.literal("}")
  }
}

/// `invalidateDecisions`: forget what was decided.
public enum InvalidateDecisions: RPCMethod {
  public static let name = "invalidateDecisions"
  public static let bounds: PeerBounds = [.issuers, .preauthorization]
  public static let chain: ChainRule = .beyond(.sessions)
  public static let summary = "Removes decisions from the cache, after a purchase for example"
  public static let explanation =
    "Only the calling user's own are removed. Decisions that are being requested at this moment are not cached either."
  public static let resultSummary = "How many were forgotten"
  public static let errors: [ErrorCode] = [.sessionNotFound, .storeUnavailable]

  public struct Params: RPCObject {
    public var provider: String?
    public var session: String?
    public var resources: [String]?

    public static let memberDocs = [
      "provider": "Only those of this decision point",
      "session": "Only those about this session's user",
      "resources": "Only those about these resources",
    ]
  }

  public struct Result: RPCObject {
    public let removed: Int

    /// A result of the given parts.
    public init(removed: Int) { self.removed = removed }

    public static let memberDocs = ["removed": "How many were forgotten"]
  }
}

extension Preauthorize.Params {
  public static func read(_ object: JSONTree) -> Self? {
    var params = Self(resources: [])
    var resources: [String]?
    let isRead = object.readMembers { $0.isNamed("resources") ? $0.read(&resources) : params.read($0) }
    guard isRead, let resources else { return nil }
    params.resources = resources
    return params
  }

  private mutating func read(_ member: JSONTree.Member) -> Bool {
    if member.isNamed("provider") { return member.read(&provider) }
    if member.isNamed("session") { return member.read(&session) }
    if member.isNamed("context") { return member.read(&context) }
    if member.isNamed("timeoutMs") { return member.read(&timeoutMs) }
    return false
  }
}
