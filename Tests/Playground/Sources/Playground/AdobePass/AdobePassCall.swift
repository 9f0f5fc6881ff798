/// The calls of the service, by the numbers of the playground's README: what each takes, as the documentation's tables
/// list it.
enum AdobePassCall: String, Sendable, CaseIterable {
  case register, token
  case configuration = "E1"
  case createSession = "E2"
  case resumeSession = "E3"
  case session = "E4"
  case authenticate = "E5"
  case profiles = "E6"
  case profile = "E7"
  case codeProfile = "E8"
  case preauthorize = "E9"
  case authorize = "E10"
  case logout = "E11"
  case partnerSession = "E12"
  case partnerProfile = "E13"

  /// The form of the body.
  enum Content: Sendable {
    case none, form, json
  }

  /// The form of this call's body.
  var content: Content {
    switch self {
    case .createSession, .resumeSession, .partnerSession, .partnerProfile, .token: .form
    case .preauthorize, .authorize, .register: .json
    default: .none
    }
  }

  /// The parameters that may be in the body, or in the query where there is no body.
  var parameters: Set<String> {
    switch self {
    case .configuration: ["profile"]
    case .createSession, .resumeSession: ["mvpd", "domainName", "redirectUrl"]
    case .partnerSession: ["domainName", "redirectUrl"]
    case .partnerProfile: ["SAMLResponse"]
    case .preauthorize, .authorize: ["resources"]
    case .logout: ["redirectUrl"]
    default: []
    }
  }

  /// Whether device identifier and device information must be there. Elsewhere they are checked only when they are.
  var needsDevice: Bool {
    switch self {
    case .configuration, .resumeSession, .session, .codeProfile, .authenticate: false
    default: true
    }
  }

  /// The headers of Adobe's own that the call takes in addition to those of the device.
  var headers: Set<AdobePassHeader> {
    switch self {
    case .configuration: []
    case .createSession: [.amazon, .roku, .service, .visitor]
    case .resumeSession, .session: [.visitor]
    case .codeProfile: [.visitor, .identity]
    case .profiles: [.amazon, .roku, .service, .partner, .visitor]
    case .profile, .preauthorize, .authorize: [.amazon, .roku, .service, .partner, .identity, .visitor]
    case .logout: [.amazon, .roku, .service, .visitor]
    case .partnerSession, .partnerProfile: [.partner, .visitor]
    case .register, .token, .authenticate: []
    }
  }
}

/// The headers that only this service knows.
enum AdobePassHeader: String, Sendable, CaseIterable {
  case device = "ap-device-identifier"
  case information = "x-device-info"
  case address = "x-forwarded-for"
  case amazon = "adobe-subject-token"
  case roku = "x-roku-reserved-roku-connect-token"
  case service = "ad-service-token"
  case partner = "ap-partner-framework-status"
  case identity = "ap-temppass-identity"
  case visitor = "ap-visitor-identifier"

  /// The headers that every call takes.
  static let ofDevice: Set<AdobePassHeader> = [.device, .information, .address]
}
