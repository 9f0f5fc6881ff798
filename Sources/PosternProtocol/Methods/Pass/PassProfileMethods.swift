public import AuthEngine
public import PosternJSON

/// The methods of Adobe Pass about profiles: `pass.listProfiles`, `pass.authorize`, `pass.logout`.
public enum PassProfileMethods {
  /// `pass.listProfiles`: the logins of a device.
  public enum ListProfiles: RPCMethod {
    public static let name = "pass.listProfiles"
    public static let bounds: PeerBounds = .preauthorization
    public static let chain: ChainRule = .beyond(.all)
    public static let summary = "Returns the profiles of a device's logins, and waits for that of a code"
    public static let explanation =
      "With mvpd the profile of that MVPD, with all every one, with code that of a login that has been started; otherwise that of the remembered MVPD, and without one every one. Each call sends a request, but for a code within pollInterval. With waitMs the call ends when the user has logged in, when the code is over, or when the time is. Waiting calls take no slot of the concurrency limits; at most 4096 of a user wait at one time."
    public static let resultSummary = "The state of the login, and its profiles"
    public static let errors = PassMethods.errors

    /// Whether a call with these params waits for its user, so that its length is no measure of its work.
    public static func waits(_ params: JSONTree?) -> Bool { params?["waitMs"]?.integerValue.map { $0 > 0 } ?? false }

    public struct Params: RPCObject, PassSharedParams {
      public var provider: String
      public var mvpd: String?
      public var all: Bool?
      public var code: String?
      public var waitMs: Int64?
      public var device: PassMethods.Device?
      public var secondScreen: Bool?
      public var visitorId: String?
      public var platform: PassMethods.Platform?
      public var serviceToken: String?
      public var partner: PassMethods.RespondingPartner?
      public var tempPass: PassMethods.TempPass?

      public var givenPartner: PassMethods.RespondingPartner? { partner }

      public static let memberDocs = PassMethods.docs(
        "provider", "device", "secondScreen", "visitorId", "platform", "serviceToken", "partner", "tempPass",
        own: [
          "mvpd": "The MVPD; only without all and code",
          "all": "true: the profiles at every MVPD; only without mvpd and code",
          "code": "The code of a login, 1 to 64 bytes; only without mvpd and all",
          "waitMs":
            "With code: how long the call waits for the user in milliseconds, 0 (default) to 1800000. meta.timeoutMs bounds the call, too",
        ])
    }

    /// A login at an MVPD.
    public struct Profile: RPCObject {
      public let mvpd: String
      public let type: String
      public let issuer: String
      public var notBeforeAt: String?
      public let expiresAt: String
      public let attributes: JSONValue

      /// A value with its required members; the others are set afterwards.
      public init(mvpd: String, type: String, issuer: String, expiresAt: String, attributes: JSONValue) {
        self.mvpd = mvpd
        self.type = type
        self.issuer = issuer
        self.expiresAt = expiresAt
        self.attributes = attributes
      }

      public static let memberDocs = [
        "mvpd": "The MVPD's id",
        "type":
          "regular, appleSSO, platformSSO, serviceTokenSSO, temporary or degraded; new values may be added",
        "issuer": "The author: an MVPD's id, Adobe, or a partner",
        "notBeforeAt": "When it begins",
        "expiresAt": "When it ends",
        "attributes": "The user's attributes as Adobe wrote them; they may identify a person",
      ]
    }

    /// The MVPD that the user chose before.
    public struct Remembered: RPCObject {
      public let id: String
      public var displayName: String?
      public var logoUrl: String?

      /// A value with its required members; the others are set afterwards.
      public init(id: String) { self.id = id }

      public static let memberDocs = [
        "id": "The id", "displayName": "The name, if it was known", "logoUrl": "The URL of the logo, if it was known",
      ]
    }

    public struct Result: RPCObject {
      public let state: PassProfiles.State
      public let profiles: [Profile]
      public var selected: String?
      public var remembered: Remembered?
      public var nextPollMs: Int64?
      public var error: Preauthorize.Status?

      /// A value with its required members; the others are set afterwards.
      public init(state: PassProfiles.State, profiles: [Profile]) {
        self.state = state
        self.profiles = profiles
      }

      public static let memberDocs = [
        "state":
          "authenticated: at least one profile; unauthenticated: none; pending: no login with the code yet; expired: its life is over; superseded: a later session of the device has another code; temporaryAccessUsedUp: the TempPass is over, error has more",
        "profiles": "The profiles that have not ended",
        "selected": "The MVPD of the profile to use: the remembered one, else that which lasts longest",
        "remembered": "The MVPD that the device's user chose before",
        "nextPollMs": "With pending: a call before that gets the same answer",
        "error": "With temporaryAccessUsedUp: Adobe's error",
      ]
    }
  }

  /// `pass.authorize`: may the user play these resources.
  public enum Authorize: RPCMethod {
    public static let name = "pass.authorize"
    public static let bounds: PeerBounds = .preauthorization
    public static let chain: ChainRule = .beyond(.all)
    public static let summary = "Decides about playing resources, with a media token for each permit"
    public static let explanation =
      "For each playback: every call sends a request, and nothing is cached. The media token goes to the service that releases the stream, unopened. A deny is a result."
    public static let resultSummary = "A decision for each resource, in the order of the call"
    public static let errors = PassMethods.errors

    public struct Params: RPCObject, PassSharedParams {
      public var provider: String
      public var resources: [String]
      public var mvpd: String?
      public var device: PassMethods.Device?
      public var visitorId: String?
      public var platform: PassMethods.Platform?
      public var serviceToken: String?
      public var partner: PassMethods.Partner?
      public var tempPass: PassMethods.TempPass?

      public var givenPartner: PassMethods.RespondingPartner? { partner?.withoutResponse }

      public static let memberDocs = PassMethods.docs(
        "provider", "mvpd", "device", "visitorId", "platform", "serviceToken", "partner", "tempPass",
        own: ["resources": "Ids or MRSS fragments, 1 to 16"])
    }

    /// The proof for the service that releases the stream.
    public struct MediaToken: RPCObject {
      public let serializedToken: String
      public var notBeforeAt: String?
      public let expiresAt: String

      /// A value with its required members; the others are set afterwards.
      public init(serializedToken: String, expiresAt: String) {
        self.serializedToken = serializedToken
        self.expiresAt = expiresAt
      }

      public static let memberDocs = [
        "serializedToken": "The token, to be passed on unopened", "notBeforeAt": "When it begins",
        "expiresAt": "When it ends",
      ]
    }

    /// The decision about one resource.
    public struct Decision: RPCObject {
      public let id: String
      public let authorized: Bool
      public var source: String?
      public var token: MediaToken?
      public var notBeforeAt: String?
      public var expiresAt: String?
      public var error: Preauthorize.Status?

      /// A value with its required members; the others are set afterwards.
      public init(id: String, authorized: Bool) {
        self.id = id
        self.authorized = authorized
      }

      public static let memberDocs = [
        "id": "The resource as the call named it",
        "authorized": "true for a permit, which always has a media token; for nothing else",
        "source": "The origin of the decision: mvpd, degradation, temppass; new values may be added",
        "token": "The media token; with a permit only",
        "notBeforeAt": "When the decision begins to count at Adobe",
        "expiresAt": "When the decision ends at Adobe",
        "error": "Why it is no permit; always there then",
      ]
    }

    public struct Result: RPCObject {
      public let mvpd: String
      public let decisions: [Decision]

      /// A value with these members.
      public init(mvpd: String, decisions: [Decision]) {
        self.mvpd = mvpd
        self.decisions = decisions
      }

      public static let memberDocs = [
        "mvpd": "The MVPD that the decisions are of", "decisions": "One for each resource, in the order of the call",
      ]
    }
  }

  /// `pass.logout`: ends a device's login.
  public enum Logout: RPCMethod {
    public static let name = "pass.logout"
    public static let bounds: PeerBounds = .preauthorization
    public static let chain: ChainRule = .beyond(.all)
    public static let summary = "Ends a login: the profile, the remembered MVPD and cached permits are forgotten"
    public static let explanation =
      "Forgotten first, whatever Adobe Pass answers: a failure there is a result, and the call can be sent once more."
    public static let resultSummary = "The result at Adobe Pass, and the steps that are left"
    public static let errors = PassMethods.errors

    public struct Params: RPCObject, PassSharedParams {
      public var provider: String
      public var mvpd: String?
      public var redirectUrl: String?
      public var device: PassMethods.Device?
      public var visitorId: String?
      public var platform: PassMethods.Platform?
      public var serviceToken: String?

      public static let memberDocs = PassMethods.docs(
        "provider", "mvpd", "redirectUrl", "device", "visitorId", "platform", "serviceToken")
    }

    /// A step that is left to do for one MVPD.
    public struct Step: RPCObject {
      public let mvpd: String
      public let actionName: String
      public let actionType: String
      public var url: String?

      /// A value with its required members; the others are set afterwards.
      public init(mvpd: String, actionName: String, actionType: String) {
        self.mvpd = mvpd
        self.actionName = actionName
        self.actionType = actionType
      }

      public static let memberDocs = [
        "mvpd": "The MVPD",
        "actionName":
          "logout: open url; partner_logout: guide the user to the system's settings; complete, invalid: nothing",
        "actionType": "interactive, partner_interactive or none",
        "url": "The URL that the user's browser opens",
      ]
    }

    public struct Result: RPCObject {
      public let upstream: UpstreamEnd
      public let logouts: [Step]
      public let forgotten: [String]
      public var error: Preauthorize.Status?

      /// A value with its required members; the others are set afterwards.
      public init(upstream: UpstreamEnd, logouts: [Step], forgotten: [String]) {
        self.upstream = upstream
        self.logouts = logouts
        self.forgotten = forgotten
      }

      public static let memberDocs = [
        "upstream": "ended; failed: it can be called again, and here the login has ended; none: no MVPD was known",
        "logouts": "The steps that are left, for each MVPD whose login ended",
        "forgotten": "The MVPDs that were remembered here",
        "error": "With failed: why",
      ]
    }
  }
}
