import PosternJSON
public import PosternSupport

/// Further settings of `kind: adobe-pass`. Its keys are in the decision point's own section.
public struct AdobePassConfiguration: Sendable, Equatable {
  /// The service provider (requestor) id.
  public var serviceProvider: String?
  /// The id of the MVPD where neither a call nor a login names one.
  public var mvpd: String?
  /// The software statement that registers the client (RFC 7591 section 2.3).
  public var softwareStatement: ConfiguredSecret<String>?
  /// The file that keeps the device's id across restarts; it is made when it is missing.
  public var deviceIDFile: String?
  /// The members of `X-Device-Info`.
  public var deviceInfo: [String: String]
  /// The logins of `pass.*`.
  public var login: AdobePassLoginConfiguration
}

/// Limits of the params of `pass.*`, and of Adobe's answers. The keys are in the decision point's section.
public struct AdobePassLoginConfiguration: Sendable, Equatable {
  /// Where browsers may come back to. Default none.
  public var redirectURLs: [String]
  /// The domains that calls may name. Default none.
  public var domainNames: [String]
  /// Further origins of URLs that browsers open; https only, http where `baseUrl` is http. Default none.
  public var urlOrigins: [String]
  /// The shortest time between two requests about one code. Default 5 seconds.
  public var pollInterval: Duration
}

extension AdobePassConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    serviceProvider = keys.optional(
      "serviceProvider", .passIdentifier, "adobe-pass: service provider (requestor) id.", example: .commented("REF30"))
    mvpd = keys.optional(
      "mvpd", .passIdentifier, "adobe-pass: the id of the MVPD where neither the call nor a login names one.",
      example: .commented("Cablevision"))
    softwareStatement = keys.secret(
      "softwareStatement", .line, "adobe-pass: file with the software statement that registers the client.",
      exampleFile: .commented("/run/secrets/software-statement"))
    deviceIDFile = keys.optional(
      "deviceIdFile", .writablePath,
      "adobe-pass: file that keeps the device's id across restarts; made when it is missing.",
      example: .commented("/var/lib/postern/device-id"))
    deviceInfo = keys.texts(
      "deviceInfo",
      """
      adobe-pass: members of X-Device-Info, which describes the device: model, version, osName, osVersion, connectionType, primaryHardwareType, \
      manufacturer, vendor, applicationId, … Left out: this sidecar on Linux.
      """,
      example: .commented(["model": "Settop", "osName": "Linux"]))
    DeviceInformation.check(deviceInfo, keys)
    login = AdobePassLoginConfiguration(reading: keys)
  }
}

extension AdobePassLoginConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    redirectURLs = keys.list(
      "redirectUrls", of: .text, default: [],
      "adobe-pass: the redirectUrl values that pass.* calls may give, compared byte for byte.",
      example: .commented(["https://www.example.com/login/done"]))
    domainNames = keys.list(
      "domainNames", of: .text, default: [],
      "adobe-pass: the domainName values that pass.* calls may give, compared byte for byte.",
      example: .commented(["example.com"]))
    urlOrigins = keys.list(
      "urlOrigins", of: .origin, default: [],
      "adobe-pass: origins, with baseUrl's own, that a url to open in a browser may have; https, or http where baseUrl is http.",
      example: .commented(["https://login.example.com"]))
    pollInterval = keys.value(
      "pollInterval", .duration(.seconds(3)...(.seconds(60))), default: .seconds(5),
      "adobe-pass: the least time between two requests about one code.",
      example: .commented("5s"))
  }
}

extension ValueForm where Value == String {
  /// An id that is a path segment of the API.
  fileprivate static var passIdentifier: Self {
    text { identifier, _ throws(ValueProblem) in
      guard identifier.utf8.count <= 128, identifier != ".", identifier != ".." else {
        throw ValueProblem("must be an id of at most 128 bytes")
      }
      return identifier
    }
  }
}

/// The members of `X-Device-Info`: which there are, and the values of those that have a closed set.
enum DeviceInformation {
  private static let maxBytes = 256

  private static let choices: [String: [String]] = [
    "primaryHardwareType": [
      "Camera", "DataCollectionTerminal", "Desktop", "EmbeddedNetworkModule", "eReader", "GamesConsole",
      "GeolocationTracker", "Glasses", "MediaPlayer", "MobilePhone", "PaymentTerminal", "PluginModem", "SetTopBox",
      "TV",
      "Tablet", "WirelessHotspot", "Wristwatch", "Unknown",
    ],
    "osName": [
      "Android", "Chrome OS", "Linux", "Mac OS", "OS X", "OpenBSD", "Roku OS", "Windows", "iOS", "tvOS", "webOS",
    ],
    "osFamily": [
      "Android", "BSD", "Linux", "PlayStation OS", "Roku OS", "Symbian", "Tizen", "Windows", "iOS", "tvOS", "macOS",
      "webOS",
    ],
  ]

  private static let others: Set<String> = [
    "applicationId", "browserName", "browserVendor", "browserVersion", "connectionIp", "connectionPort",
    "connectionSecure", "connectionType", "diagonalScreenSize", "displayHeight", "displayPpi", "displayWidth",
    "manufacturer", "model", "osVendor", "osVersion", "userAgent", "vendor", "version",
  ]

  /// Reports errors in `given`. An unknown member may be a newer one: it is sent, with a warning.
  static func check(_ given: [String: String], _ keys: SectionReader) {
    let path = keys.path.key("deviceInfo")
    for (name, value) in given.sorted(by: { $0.key < $1.key }) {
      if value.utf8.count > maxBytes {
        keys.context.problem("must be at most \(maxBytes) bytes", at: path.key(name))
      } else if let values = choices[name] {
        guard !values.contains(value) else { continue }
        keys.context.problem(Suggestion.message(for: value, among: values), at: path.key(name))
      } else if !others.contains(name) {
        let message = "is no known member of X-Device-Info, and is sent as it is"
        let known = others.union(choices.keys).sorted()
        keys.context.warn(Suggestion.appended(to: message, for: name, among: known), at: path.key(name))
      }
    }
  }
}
