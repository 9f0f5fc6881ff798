public import PosternSupport

/// A service provider's configuration at Adobe Pass: the MVPDs among which its users choose.
public struct PassConfiguration: Sendable, Hashable {
  /// A domain of the service provider.
  public struct Domain: Sendable, Hashable {
    /// The name, which is what calls give as `domainName`.
    public let name: String
    /// Whether logins may start at the MVPD.
    public let isMVPDInitiated: Bool
  }

  /// The service provider's id.
  public let serviceProvider: String
  /// The service provider's name.
  public let displayName: String?
  /// Its domains.
  public let domains: [Domain]
  /// Its MVPDs.
  public let mvpds: [PassMVPD]
  /// Whether it came from memory.
  public var isCached: Bool
  /// The end of its life in memory.
  public let expiresAt: Timestamp

  /// The same without the MVPDs of TempPasses, which are nothing to choose.
  var withoutTempPass: PassConfiguration {
    PassConfiguration(
      serviceProvider: serviceProvider, displayName: displayName, domains: domains,
      mvpds: mvpds.filter { !$0.flags.contains(.isTempPass) }, isCached: isCached, expiresAt: expiresAt)
  }
}

/// A television provider: a multichannel video programming distributor.
public struct PassMVPD: Sendable, Hashable {
  /// Properties that an MVPD has or lacks. Adobe leaves out those that it lacks.
  public enum Flag: String, Sendable, Hashable, CaseIterable {
    /// It stands for a TempPass.
    case isTempPass
    /// It is reached through another MVPD.
    case isProxy
    /// Single sign-on of platforms is on.
    case enablePlatformServices
    /// The platform's own picker shows it.
    case displayInPlatformPicker
    /// A user who denies the platform's access gets no shared login.
    case enforcePlatformPermissions
    /// A login is for one service provider: no single sign-on.
    case authPerAggregator
    /// A login is for one browser session.
    case authPerBrowserSession
    /// A login may be prolonged without the user.
    case passiveAuthnEnabled
  }

  /// The id.
  public let id: String
  /// The name for people.
  public let displayName: String?
  /// The URL of the logo, which the sidecar never fetches.
  public let logoURL: String?
  /// How the platform's partner supports it: `SUPPORTED`, `PICKER`, or another text.
  public let boardingStatus: String?
  /// The partner's id of it.
  public let platformMappingID: String?
  /// The properties that it has.
  public let flags: Set<Flag>
}

/// The next step of a login, which Adobe gives by a name and a type.
public struct PassSession: Sendable, Hashable {
  private struct Origin: Hashable {
    let serviceProvider: String?
    let sessionID: String?
  }

  private struct Life: Hashable {
    let start: Timestamp?
    let end: Timestamp?
  }

  /// The name of what is next: `authenticate`, `resume`, `retry`, `authorize` or `partner_profile`.
  public let actionName: String
  /// Its type: `interactive` or `direct`.
  public let actionType: String
  /// Why; new values may come.
  public let reasonType: String?
  private let origin: Origin
  /// The code of the login: shown to the user, and the parameter of the calls that continue.
  public let code: String?
  /// The URL that the user's browser opens: absolute, and of an origin that the configuration allows.
  public let url: String?
  /// The MVPD.
  public let mvpd: String?
  /// The parameters that are missing: `mvpd`, `domainName`, `redirectUrl`.
  public let missingParameters: [String]
  /// The request for a partner's framework.
  public let authenticationRequest: PassAuthenticationRequest?
  private let life: Life

  init(
    actionName: String, actionType: String, reasonType: String?, serviceProvider: String?, sessionID: String?,
    code: String?, url: String?, mvpd: String?, missingParameters: [String],
    authenticationRequest: PassAuthenticationRequest?, notBefore: Timestamp?, expiresAt: Timestamp?
  ) {
    self.actionName = actionName
    self.actionType = actionType
    self.reasonType = reasonType
    origin = Origin(serviceProvider: serviceProvider, sessionID: sessionID)
    self.code = code
    self.url = url
    self.mvpd = mvpd
    self.missingParameters = missingParameters
    self.authenticationRequest = authenticationRequest
    life = Life(start: notBefore, end: expiresAt)
  }

  /// The service provider.
  public var serviceProvider: String? { origin.serviceProvider }
  /// Adobe's id of the session, for tracking only.
  public var sessionID: String? { origin.sessionID }
  /// The start of the code's life.
  public var notBefore: Timestamp? { life.start }
  /// The end of the code's life. Always there with a code.
  public var expiresAt: Timestamp? { life.end }
}

/// The request of which a partner's framework makes a SAML response.
public struct PassAuthenticationRequest: Sendable, Hashable {
  /// The kind: `saml`.
  public let type: String
  /// The request in base64.
  public let request: String
  /// The names of the attributes that the response must have.
  public let attributeNames: [String]
}

/// A session as another screen sees it by its code: what is known, what is missing, and which kind of device shows the
/// code. Addresses and browsers of the device are never passed on.
public struct PassSessionStatus: Sendable, Hashable {
  /// A device as another screen may know it.
  public struct Device: Sendable, Hashable {
    /// The kind of hardware.
    public let type: String?
    /// The model.
    public let model: String?
    /// The application.
    public let applicationID: String?
  }

  /// The code.
  public let code: String
  /// The service provider.
  public let serviceProvider: String?
  /// The MVPD.
  public let mvpd: String?
  /// The domain.
  public let domainName: String?
  /// Where the browser comes back to.
  public let redirectURL: String?
  /// The parameters that are missing.
  public let missingParameters: [String]
  /// Where a browser logs in; nil while something is missing.
  public let authenticateURL: String?
  /// The start of the code's life.
  public let notBefore: Timestamp?
  /// The end of the code's life.
  public let expiresAt: Timestamp?
  /// The device that shows the code.
  public let device: Device?
}

extension PassConfiguration: ConciseStringConvertible {
  /// The service provider and the number of MVPDs.
  public var description: String {
    Concise.text(Concise.name(serviceProvider), Concise.count(mvpds.count, "MVPD"), isCached ? "cached" : nil)
  }
}

extension PassConfiguration.Domain: ConciseStringConvertible {
  /// The name.
  public var description: String { Concise.name(name) }
}

extension PassMVPD: ConciseStringConvertible {
  /// The id.
  public var description: String { Concise.name(id) }
}

extension PassSession: ConciseStringConvertible {
  /// The next step. The code is secret.
  public var description: String {
    Concise.text(
      "\(Concise.name(actionName))/\(Concise.name(actionType))", reasonType.map { Concise.name($0) },
      mvpd.map { Concise.name($0) }, missingParameters.isEmpty ? nil : Concise.list(missingParameters, of: "parameter"))
  }
}

extension PassAuthenticationRequest: ConciseStringConvertible {
  /// The kind.
  public var description: String { "\(Concise.name(type)) request" }
}

extension PassSessionStatus: ConciseStringConvertible {
  /// The missing parameters. The code is secret.
  public var description: String {
    Concise.text(
      "session", mvpd.map { Concise.name($0) },
      missingParameters.isEmpty ? "complete" : Concise.list(missingParameters, of: "missing parameter"))
  }
}

extension PassSessionStatus.Device: ConciseStringConvertible {
  /// Kind and model.
  public var description: String {
    Concise.text("device", type.map { Concise.name($0) }, model.map { Concise.name($0) })
  }
}
