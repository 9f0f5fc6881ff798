public import AuthEngine
public import PosternSupport

/// The methods of Adobe Pass, `pass.*`: a login at a television provider (MVPD), its profiles, and what it may play.
public enum PassMethods {
  /// The errors of every one of them.
  public static let errors: [ErrorCode] = [.passError, .passUnreachable, .passNotConfigured, .storeUnavailable]

  /// The device whose login it is.
  public struct Device: RPCObject {
    public var id: String?
    public var info: [String: String]?
    public var address: String?

    public static let memberDocs = [
      "id":
        "The device's id, 1 to 256 bytes; default: the configured one. Another id is another device, with profiles and codes of its own",
      "info": "Members of X-Device-Info, which replace configured ones of the same name",
      "address": "The device's public IP address, by which Adobe Pass limits the rate of requests",
    ]
  }

  /// The token of a platform.
  public struct Platform: RPCObject {
    public var name: PassPlatformToken.Platform
    public var token: String

    public static let memberDocs = [
      "name": "amazon or roku", "token": "The platform's token as it gave it; it is sent on and not inspected",
    ]
  }

  /// The state of a partner's framework on the device.
  public struct Partner: RPCObject {
    public var name: String
    public var frameworkStatus: ParameterObject

    public static let memberDocs = [
      "name": "The partner's name in Adobe's paths, as in Apple",
      "frameworkStatus": "frameworkPermissionInfo and frameworkProviderInfo, sent in the given order",
    ]
  }

  /// The state of a partner's framework, and the SAML response that it made.
  public struct RespondingPartner: RPCObject {
    public var name: String
    public var frameworkStatus: ParameterObject
    public var samlResponse: String?

    public static let memberDocs = Partner.memberDocs.merging([
      "samlResponse": "The framework's SAML response, as XML: a profile is made of it. Only without mvpd, all and code"
    ]) { own, _ in own }
  }

  /// The identity for a promotional TempPass.
  public struct TempPass: RPCObject {
    public var identity: String

    public static let memberDocs = ["identity": "The JSON text of an object, at most 4096 bytes; these bytes are sent"]
  }

  /// Documents the members of params: those of `names`, which several methods have, and the method's own.
  static func docs(_ names: String..., own: [String: String] = [:]) -> [String: String] {
    shared.filter { names.contains($0.key) }.merging(own) { _, own in own }
  }

  private static let shared = [
    "provider": "A configured decision point of kind adobe-pass",
    "device": "The device whose login it is; left out: the configured device",
    "secondScreen": "true: another screen than the device calls. Nothing of the device is sent, and nothing is stored",
    "visitorId": "The Experience Cloud id (AP-Visitor-Identifier)",
    "platform": "The token of the device's platform, for single sign-on",
    "serviceToken":
      "A token of an identity service of your own, for single sign-on: a JWS of RS256 that has not expired",
    "partner": "The state of a partner's framework, for single sign-on with the partner",
    "tempPass": "The identity for a promotional TempPass",
    "mvpd": "The MVPD; default: the remembered one, then the configured one",
    "code": "The code of the login, 1 to 64 bytes",
    "domainName": "A domain from the configured domainNames",
    "redirectUrl": "The URL that the browser returns to, from the configured redirectUrls",
  ]
}

/// The params that calls of `pass.*` share. What a method does not take is nil here, and an unknown member on the wire.
public protocol PassSharedParams {
  var provider: String { get }
  var device: PassMethods.Device? { get }
  var secondScreen: Bool? { get }
  var visitorId: String? { get }
  var platform: PassMethods.Platform? { get }
  var serviceToken: String? { get }
  var tempPass: PassMethods.TempPass? { get }
  /// The name, the status and the SAML response of a partner.
  var givenPartner: PassMethods.RespondingPartner? { get }
}

extension PassSharedParams {
  public var secondScreen: Bool? { nil }
  public var visitorId: String? { nil }
  public var platform: PassMethods.Platform? { nil }
  public var serviceToken: String? { nil }
  public var tempPass: PassMethods.TempPass? { nil }
  public var givenPartner: PassMethods.RespondingPartner? { nil }
}

extension PassMethods.Partner {
  /// The partner without a SAML response.
  var withoutResponse: PassMethods.RespondingPartner {
    PassMethods.RespondingPartner(name: name, frameworkStatus: frameworkStatus, samlResponse: nil)
  }
}
