import PosternJSON

/// A provider that users may have an account with, the same ones for every service provider.
struct AdobePassMVPD: Sendable {
  let id: String
  let displayName: String
  /// How the provider lets users try without an account.
  enum Trial: Sendable {
    case basic, promotional
  }
  /// The trial that the MVPD stands for; nil for one with accounts.
  var trial: Trial?
  var isProxied = false
  /// Whether the integration is switched on; an inactive one is not in the configuration.
  var isActive = true
  /// Whether the MVPD has a logout page.
  var hasLogout = true
  /// `SUPPORTED` or `PICKER`.
  var boardingStatus: String?
  /// The partner's name of it.
  var platformMappingID: String?

  /// All of them.
  static let all = [
    AdobePassMVPD(id: "Cablevision", displayName: "Cablevision"),
    AdobePassMVPD(id: "Comcast_SSO", displayName: "Comcast"),
    AdobePassMVPD(
      id: "ATTOTT", displayName: "AT&T", boardingStatus: "PICKER", platformMappingID: "partner-attott"),
    AdobePassMVPD(id: "a/b", displayName: "A slash B"),
    AdobePassMVPD(id: "Proxied", displayName: "Proxied", isProxied: true, hasLogout: false),
    AdobePassMVPD(
      id: "Spectrum", displayName: "Spectrum", boardingStatus: "SUPPORTED", platformMappingID: "partner-spectrum"),
    AdobePassMVPD(id: "TempPass_Basic", displayName: "Trial", trial: .basic),
    AdobePassMVPD(id: "TempPass_Promo", displayName: "Trial for invited users", trial: .promotional),
    AdobePassMVPD(id: "Inactive", displayName: "Inactive", isActive: false),
  ]

  /// The MVPD named `id`, which must be known and active.
  static func named(_ id: String) throws(AdobePassError) -> AdobePassMVPD {
    guard let mvpd = all.first(where: { $0.id == id }) else { throw AdobePassError("invalid_parameter_mvpd") }
    guard mvpd.isActive else { throw AdobePassError("invalid_integration") }
    return mvpd
  }

  /// The entry of the configuration; flags that are false are left out, as published samples do.
  var json: JSONValue {
    var json: JSONObject = [
      "id": .string(id), "displayName": .string(displayName),
      "logoUrl": .string("https://playground.test/logos/\(PercentCoding.encode(id)).png"),
    ]
    if trial != nil {
      json["isTempPass"] = true
      json["authPerAggregator"] = true
    }
    if isProxied { json["isProxy"] = true }
    if let boardingStatus {
      json["boardingStatus"] = .string(boardingStatus)
      json["enablePlatformServices"] = true
      json["displayInPlatformPicker"] = true
      json["enforcePlatformPermissions"] = .bool(boardingStatus == "SUPPORTED")
    }
    if let platformMappingID { json["platformMappingId"] = .string(platformMappingID) }
    return .object(json)
  }
}
