public import Entitlements
public import OAuthClient
public import PosternJSON
public import PosternSupport

/// A user's login at an MVPD, as Adobe Pass has it for a device.
public struct PassProfile: Sendable {
  /// The MVPD's id.
  public let mvpd: String
  /// The kind: `regular`, `appleSSO`, `platformSSO`, `serviceTokenSSO`, `temporary`, `degraded`, or a new one.
  public let type: String
  /// Its maker: an MVPD's id, `Adobe`, or a partner.
  public let issuer: String
  /// The start of its life.
  public let notBefore: Timestamp?
  /// The end of its life.
  public let expiresAt: Timestamp
  /// The user's attributes, as Adobe wrote them. They may identify a person.
  public let attributes: JSONObject
  /// The end of its life by the clock of this machine, which may differ from Adobe's.
  let endsAt: Timestamp

  /// Whether it may be remembered: a temporary or degraded login is nothing to come back to.
  var isLasting: Bool { type != "temporary" && type != "degraded" }
}

/// The logins of a device.
public struct PassProfiles: Sendable {
  /// Their meaning for the user.
  public enum State: String, Sendable, Hashable, CaseIterable {
    /// There is a login.
    case authenticated
    /// There is none.
    case unauthenticated
    /// The code lives, and has no login yet.
    case pending
    /// The code's life is over.
    case expired
    /// A later session of the device replaced the code.
    case superseded
    /// The TempPass is used up.
    case temporaryAccessUsedUp
  }

  /// An MVPD that was chosen before.
  public struct Remembered: Sendable, Hashable {
    /// The id.
    public let id: String
    /// The name, if it was known.
    public let displayName: String?
    /// The URL of the logo, if it was known.
    public let logoURL: String?
  }

  /// Their meaning for the user.
  public let state: State
  /// The logins that have not ended.
  public let profiles: [PassProfile]
  /// The MVPD of the login to use: the remembered one, else the one that lasts longest.
  public let selected: String?
  /// The MVPD that the device's user chose before.
  public let remembered: Remembered?
  /// The time before which another look at the code gets the same answer.
  public let nextPoll: Duration?
  /// Why a TempPass is over.
  public let error: Status?
}

/// The decision about playing one resource.
public struct PassDecision: Sendable {
  /// A media token: what the service that releases the stream checks. Used once, and never stored.
  public struct MediaToken: Sendable {
    /// The token, to be passed on unopened.
    public let serialized: Secret<String>
    /// The start of its life.
    public let notBefore: Timestamp?
    /// The end of its life.
    public let expiresAt: Timestamp
  }

  /// The resource as the call named it.
  public let id: String
  /// The media token: there for a permit, and for nothing else.
  public let token: MediaToken?
  /// The decider: `mvpd`, `degradation`, `temppass`, or another text.
  public let source: String?
  /// The start of the decision's life at Adobe.
  public let notBefore: Timestamp?
  /// The end of the decision's life at Adobe.
  public let expiresAt: Timestamp?
  /// Why it is no permit; nil for a permit only.
  public let error: Status?

  /// Whether it is a permit. Only one with a media token is.
  public var isAuthorized: Bool { error == nil && token != nil }

  static func notPermitted(_ id: String, _ error: Status, source: String? = nil) -> PassDecision {
    PassDecision(id: id, token: nil, source: source, notBefore: nil, expiresAt: nil, error: error)
  }
}

/// The decisions about playing resources.
public struct PassDecisions: Sendable {
  /// The MVPD that they are of.
  public let mvpd: String
  /// One for each resource of the call, in its order.
  public let decisions: [PassDecision]
}

/// The end of a device's login.
public struct PassLogout: Sendable {
  /// The step that is left for one MVPD.
  public struct Step: Sendable, Hashable {
    /// The MVPD.
    public let mvpd: String
    /// The name of what is next: `logout`, `partner_logout`, `complete` or `invalid`.
    public let actionName: String
    /// Its type: `interactive`, `partner_interactive` or `none`.
    public let actionType: String
    /// The URL that the user's browser opens.
    public let url: String?
  }

  /// The result at Adobe Pass: a logout that failed there may be repeated; `none` means that no MVPD was known.
  public let upstream: UpstreamEnd
  /// The steps that are left, for each MVPD whose login ended.
  public let logouts: [Step]
  /// The MVPDs that were remembered here.
  public let forgotten: [String]
  /// Why it failed.
  public let error: Status?
}

extension PassProfile: ConciseStringConvertible {
  /// MVPD and kind; attributes are personal.
  public var description: String {
    Concise.text("\(Concise.name(type)) profile of \(Concise.name(mvpd))", "expires \(expiresAt)")
  }
}

extension PassProfiles: ConciseStringConvertible {
  /// State and logins.
  public var description: String {
    Concise.text(state.rawValue, Concise.list(profiles.map(\.mvpd), of: "profile"), error.map { "\($0)" })
  }
}

extension PassProfiles.Remembered: ConciseStringConvertible {
  /// The id.
  public var description: String { Concise.name(id) }
}

extension PassDecision: ConciseStringConvertible {
  /// Resource and decision. The token is secret.
  public var description: String {
    "\(Concise.name(id)): \(isAuthorized ? "permit" : Concise.text("no permit", error.map { "\($0)" }))"
  }
}

extension PassDecision.MediaToken: ConciseStringConvertible {
  /// Its end. The token is secret.
  public var description: String { "media token, expires \(expiresAt)" }
}

extension PassDecisions: ConciseStringConvertible {
  /// MVPD and counts.
  public var description: String {
    let permits = decisions.count(where: \.isAuthorized)
    return Concise.text(
      Concise.name(mvpd), Concise.count(permits, "permit"), Concise.count(decisions.count - permits, "refusal"))
  }
}

extension PassLogout: ConciseStringConvertible {
  /// The outcome.
  public var description: String {
    Concise.text(upstream.rawValue, Concise.list(logouts.map(\.mvpd), of: "MVPD"), error.map { "\($0)" })
  }
}

extension PassLogout.Step: ConciseStringConvertible {
  /// MVPD and what is next.
  public var description: String { "\(Concise.name(mvpd)): \(Concise.name(actionName))/\(Concise.name(actionType))" }
}
