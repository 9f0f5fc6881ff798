public import OAuthClient
public import PosternJSON
public import PosternSupport

/// The parameters that most calls to Adobe Pass share: the device, and what proves who uses it. What an endpoint does
/// not take is an error, and nothing is sent.
public struct PassOptions: Sendable {
  /// The device whose login it is; by default the configured one.
  public var device: PassDevice
  /// Whether the caller is another screen than the device: requests name no device, and nothing is stored.
  public var isSecondScreen: Bool
  /// The Experience Cloud id of the user, sent unchanged.
  public var visitorID: Secret<String>?
  /// The token of the device's platform.
  public var platform: PassPlatformToken?
  /// A signed token of the caller's own identity service (`AD-Service-Token`).
  public var serviceToken: Secret<String>?
  /// The status of the partner's framework.
  public var partner: PassPartner?
  /// The identity for a promotional TempPass (`AP-TempPass-Identity`): the JSON text of an object.
  public var tempPassIdentity: Secret<String>?

  /// Options of the given values.
  public init(
    device: PassDevice = PassDevice(), isSecondScreen: Bool = false, visitorID: Secret<String>? = nil,
    platform: PassPlatformToken? = nil, serviceToken: Secret<String>? = nil, partner: PassPartner? = nil,
    tempPassIdentity: Secret<String>? = nil
  ) {
    self.device = device
    self.isSecondScreen = isSecondScreen
    self.visitorID = visitorID
    self.platform = platform
    self.serviceToken = serviceToken
    self.partner = partner
    self.tempPassIdentity = tempPassIdentity
  }
}

/// A device other than the configured one, or further properties of it.
public struct PassDevice: Sendable {
  /// The device's id, 1 to 256 bytes; nil for the configured one. Another id is another device, with logins of its own.
  public var id: Secret<String>?
  /// Members of `X-Device-Info`, which replace configured ones of the same name.
  public var information: [String: String]
  /// The device's public IP address (`X-Forwarded-For`), by which Adobe Pass limits the rate of requests.
  public var address: String?

  /// The configured device, but for what is given.
  public init(id: Secret<String>? = nil, information: [String: String] = [:], address: String? = nil) {
    self.id = id
    self.information = information
    self.address = address
  }
}

/// A token by which the platform of a device proves its user.
public struct PassPlatformToken: Sendable {
  /// The platforms.
  public enum Platform: String, Sendable, Hashable, CaseIterable {
    /// `Adobe-Subject-Token`.
    case amazon
    /// `X-Roku-Reserved-Roku-Connect-Token`.
    case roku

    /// The header field that carries the token.
    var field: String {
      switch self {
      case .amazon: "Adobe-Subject-Token"
      case .roku: "X-Roku-Reserved-Roku-Connect-Token"
      }
    }
  }

  /// The platform.
  public var platform: Platform
  /// The token as the platform gave it; it is not inspected.
  public var token: Secret<String>

  /// The token of `platform`.
  public init(_ platform: Platform, token: Secret<String>) {
    self.platform = platform
    self.token = token
  }
}

/// The state of a partner's framework on the device, for single sign-on with the partner
/// (`AP-Partner-Framework-Status`).
public struct PassPartner: Sendable {
  /// The partner's name in paths, as in `Apple`.
  public var name: String
  /// The status: `frameworkPermissionInfo` and `frameworkProviderInfo`.
  public var frameworkStatus: JSONObject
  /// The SAML response of the framework, for the request that makes a profile of it; else nil.
  public var samlResponse: Secret<String>?

  /// The partner's status, and its SAML response.
  public init(name: String, frameworkStatus: JSONObject, samlResponse: Secret<String>? = nil) {
    self.name = name
    self.frameworkStatus = frameworkStatus
    self.samlResponse = samlResponse
  }

  /// The end of what the framework knows about the provider (`frameworkProviderInfo.expirationDate`); nil where it
  /// gives none.
  var expiresAt: Timestamp? {
    frameworkStatus["frameworkProviderInfo"].flatMap { PassReading.time($0["expirationDate"]) }
  }
}

/// A parameter that cannot be sent. Nothing was.
public struct PassParameterError: Error, Sendable, Hashable {
  /// The parameter, as in `/device/info/model`.
  public let path: ParameterPath
  /// The problem with it.
  public let reason: String

  package init(_ path: ParameterPath, _ reason: String) {
    self.path = path
    self.reason = reason
  }
}

extension PassOptions: ConciseStringConvertible {
  /// The names of what is given: the values are secret.
  public var description: String {
    Concise.text(
      "\(device)", isSecondScreen ? "second screen" : nil, platform.map { "platform \($0.platform.rawValue)" },
      serviceToken == nil ? nil : "service token", partner.map { "\($0)" },
      tempPassIdentity == nil ? nil : "identity for a TempPass")
  }
}

extension PassDevice: ConciseStringConvertible {
  /// Whether it is the configured one; its id is secret.
  public var description: String { id == nil ? "the configured device" : "a device of the caller's" }
}

extension PassPlatformToken: ConciseStringConvertible {
  /// The platform.
  public var description: String { "token of \(platform.rawValue)" }
}

extension PassPartner: ConciseStringConvertible {
  /// The name.
  public var description: String { "partner \(Concise.name(name))" }
}

extension PassParameterError: ConciseStringConvertible {
  /// Path and reason.
  public var description: String { "\(path) \(Concise.name(reason))" }
}
