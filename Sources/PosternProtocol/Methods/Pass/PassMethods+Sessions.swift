extension PassMethods {
  /// `pass.getConfiguration`: the MVPDs among which a user chooses.
  public enum GetConfiguration: RPCMethod {
    public static let name = "pass.getConfiguration"
    public static let bounds: PeerBounds = .preauthorization
    public static let chain: ChainRule = .open
    public static let summary = "Returns a service provider's domains and MVPDs, for a picker"
    public static let explanation =
      "It is kept in memory for two minutes by provider and device description; calls at the same time make one request."
    public static let resultSummary = "The service provider's configuration at Adobe Pass"
    public static let errors = PassMethods.errors

    public struct Params: RPCObject, PassSharedParams {
      public var provider: String
      public var device: Device?
      public var includeTempPass: Bool?

      public static let memberDocs = docs(
        "provider", "device",
        own: ["includeTempPass": "true: with the MVPDs that stand for a TempPass; default: without"])
    }

    /// A domain of the service provider.
    public struct Domain: RPCObject {
      public let name: String
      public let mvpdInitiated: Bool

      /// A value with these members.
      public init(name: String, mvpdInitiated: Bool) {
        self.name = name
        self.mvpdInitiated = mvpdInitiated
      }

      public static let memberDocs = [
        "name": "The name, which calls give as domainName", "mvpdInitiated": "Whether logins may start at the MVPD",
      ]
    }

    /// An MVPD.
    public struct Mvpd: RPCObject {
      public let id: String
      public var displayName: String?
      public var logoUrl: String?
      public var boardingStatus: String?
      public var platformMappingId: String?
      public var isTempPass = false
      public var isProxy = false
      public var enablePlatformServices = false
      public var displayInPlatformPicker = false
      public var enforcePlatformPermissions = false
      public var authPerAggregator = false
      public var authPerBrowserSession = false
      public var passiveAuthnEnabled = false

      /// A value with its required members; the others are set afterwards.
      public init(id: String) { self.id = id }

      public static let memberDocs = [
        "id": "The id, which calls give as mvpd",
        "displayName": "The name for people",
        "logoUrl": "The URL of the logo; the sidecar does not fetch it",
        "boardingStatus": "How the platform's partner supports it: SUPPORTED, PICKER; new values may be added",
        "platformMappingId": "The partner's id of it",
        "isTempPass": "It stands for a TempPass",
        "isProxy": "It is reached through another MVPD",
        "enablePlatformServices": "Single sign-on of platforms is on",
        "displayInPlatformPicker": "The platform's own picker shows it",
        "enforcePlatformPermissions": "A user who denies the platform's access gets no shared login",
        "authPerAggregator": "A login is for one service provider: no single sign-on",
        "authPerBrowserSession": "A login is for one browser session",
        "passiveAuthnEnabled": "A login may be prolonged without the user",
      ]
    }

    public struct Result: RPCObject {
      public let serviceProvider: String
      public var displayName: String?
      public let domains: [Domain]
      public let mvpds: [Mvpd]
      public let cached: Bool
      public let expiresAt: String

      /// A value with its required members; the others are set afterwards.
      public init(serviceProvider: String, domains: [Domain], mvpds: [Mvpd], cached: Bool, expiresAt: String) {
        self.serviceProvider = serviceProvider
        self.domains = domains
        self.mvpds = mvpds
        self.cached = cached
        self.expiresAt = expiresAt
      }

      public static let memberDocs = [
        "serviceProvider": "The service provider's id",
        "displayName": "The service provider's name",
        "domains": "Its domains",
        "mvpds": "Its MVPDs, in Adobe's order",
        "cached": "Whether it came from memory",
        "expiresAt": "When it is requested again",
      ]
    }
  }

  /// The next step of a login.
  public struct Session: RPCObject {
    public let actionName: String
    public let actionType: String
    public var reasonType: String?
    public var serviceProvider: String?
    public var sessionId: String?
    public var code: String?
    public var url: String?
    public var mvpd: String?
    public let missingParameters: [String]
    public var authenticationRequest: AuthenticationRequest?
    public var notBeforeAt: String?
    public var expiresAt: String?

    /// A value with its required members; the others are set afterwards.
    public init(actionName: String, actionType: String, missingParameters: [String]) {
      self.actionName = actionName
      self.actionType = actionType
      self.missingParameters = missingParameters
    }

    public static let memberDocs = [
      "actionName":
        "authenticate: open url, or show the code; resume: show the code, or complete missingParameters by pass.resumeSession; retry: complete them and resume again; authorize: the user is logged in; partner_profile: give authenticationRequest to the partner's framework",
      "actionType": "interactive, with a browser; direct, without",
      "reasonType":
        "Why: authenticated, authenticatedSSO, temporary, degraded, none; new values may be added",
      "serviceProvider": "The service provider's id",
      "sessionId": "Adobe's id of the session, for tracking",
      "code": "The code of the login, for the user and for the calls that continue",
      "url": "The URL that the user's browser opens: absolute, of an origin that the configuration allows",
      "mvpd": "The MVPD",
      "missingParameters": "Which of mvpd, domainName and redirectUrl are missing",
      "authenticationRequest": "The request for the partner's framework",
      "notBeforeAt": "When the code's life begins",
      "expiresAt": "When the code's life ends; always there with a code",
    ]
  }

  /// The request that a partner's framework makes a SAML response for.
  public struct AuthenticationRequest: RPCObject {
    public let type: String
    public let request: String
    public let attributesNames: [String]

    /// A value with these members.
    public init(type: String, request: String, attributesNames: [String]) {
      self.type = type
      self.request = request
      self.attributesNames = attributesNames
    }

    public static let memberDocs = [
      "type": "The kind: saml", "request": "The request in base64",
      "attributesNames": "The attributes that the response must have",
    ]
  }

  /// `pass.createSession`: starts a login.
  public enum CreateSession: RPCMethod {
    public static let name = "pass.createSession"
    public static let bounds: PeerBounds = .preauthorization
    public static let chain: ChainRule = .beyond(.all)
    public static let summary = "Starts a login at an MVPD, on this screen or on a second one"
    public static let explanation =
      "The result contains the next step. A former code of the device is superseded. With partner it is a login by the partner, without mvpd, platform and serviceToken."
    public static let resultSummary = "The next step of the login"
    public static let errors = PassMethods.errors

    public struct Params: RPCObject, PassSharedParams {
      public var provider: String
      public var mvpd: String?
      public var domainName: String?
      public var redirectUrl: String?
      public var device: Device?
      public var visitorId: String?
      public var platform: Platform?
      public var serviceToken: String?
      public var partner: Partner?

      public var givenPartner: RespondingPartner? { partner?.withoutResponse }

      public static let memberDocs = docs(
        "provider", "device", "visitorId", "platform", "serviceToken", "partner", "domainName", "redirectUrl",
        own: ["mvpd": "The MVPD that the user chose; left out, it is missing"])
    }

    public typealias Result = Session
  }

  /// `pass.resumeSession`: completes a login.
  public enum ResumeSession: RPCMethod {
    public static let name = "pass.resumeSession"
    public static let bounds: PeerBounds = .preauthorization
    public static let chain: ChainRule = .beyond(.all)
    public static let summary = "Completes the parameters of a login by its code"
    public static let explanation = "For a login that this device, or with secondScreen another one, has started."
    public static let resultSummary = "The next step of the login"
    public static let errors = PassMethods.errors

    public struct Params: RPCObject, PassSharedParams {
      public var provider: String
      public var code: String
      public var mvpd: String?
      public var domainName: String?
      public var redirectUrl: String?
      public var device: Device?
      public var secondScreen: Bool?
      public var visitorId: String?

      public static let memberDocs = docs(
        "provider", "code", "device", "secondScreen", "visitorId", "domainName", "redirectUrl",
        own: ["mvpd": "The MVPD that the user chose"])
    }

    public typealias Result = Session
  }

  /// `pass.getSession`: a login as a second screen sees it.
  public enum GetSession: RPCMethod {
    public static let name = "pass.getSession"
    public static let bounds: PeerBounds = .preauthorization
    public static let chain: ChainRule = .beyond(.all)
    public static let summary = "Returns the known parameters of a login by its code, for a second screen"
    public static let explanation =
      "It shows the kind of device that shows the code. Addresses and the browser of the device are not passed on."
    public static let resultSummary = "The known parameters of the login, and the missing ones"
    public static let errors = PassMethods.errors

    public struct Params: RPCObject, PassSharedParams {
      public var provider: String
      public var code: String
      public var device: Device?
      public var secondScreen: Bool?
      public var visitorId: String?

      public static let memberDocs = docs("provider", "code", "device", "secondScreen", "visitorId")
    }

    /// The device that shows the code.
    public struct ShownDevice: RPCObject {
      public var type: String?
      public var model: String?
      public var applicationId: String?

      /// A value with its required members; the others are set afterwards.
      public init() {}

      public static let memberDocs = [
        "type": "The kind of hardware", "model": "The model", "applicationId": "The application",
      ]
    }

    public struct Result: RPCObject {
      public let code: String
      public var serviceProvider: String?
      public var mvpd: String?
      public var domainName: String?
      public var redirectUrl: String?
      public let missingParameters: [String]
      public var authenticateUrl: String?
      public var notBeforeAt: String?
      public var expiresAt: String?
      public var device: ShownDevice?

      /// A value with its required members; the others are set afterwards.
      public init(code: String, missingParameters: [String]) {
        self.code = code
        self.missingParameters = missingParameters
      }

      public static let memberDocs = [
        "code": "The code",
        "serviceProvider": "The service provider's id",
        "mvpd": "The MVPD",
        "domainName": "The domain",
        "redirectUrl": "Where the browser comes back to",
        "missingParameters": "Which of mvpd, domainName and redirectUrl are missing",
        "authenticateUrl": "Where a browser logs in; left out while something is missing",
        "notBeforeAt": "When the code's life begins",
        "expiresAt": "When the code's life ends",
        "device": "The device that shows the code",
      ]
    }
  }
}
