import PosternJSON
public import PosternSupport

/// What `kind: adobe-pass` needs besides. Its keys lie in the decision point's own section.
public struct AdobePassConfiguration: Sendable, Equatable {
  /// The service provider (requestor) id.
  public var serviceProvider: String?
  /// The MVPD's id.
  public var mvpd: String?
  /// The software statement that registers the client (RFC 7591 section 2.3).
  public var softwareStatement: ConfiguredSecret<String>?
  /// The file that keeps the device's id across restarts; it is made when it is missing.
  public var deviceIDFile: String?
  /// The members of `X-Device-Info`.
  public var deviceInfo: [String: String]
}

extension AdobePassConfiguration: ConfigurationSection {
  init(reading keys: SectionReader) {
    serviceProvider = keys.optional(
      "serviceProvider", .passIdentifier, "adobe-pass: service provider (requestor) id.", example: .commented("REF30"))
    mvpd = keys.optional("mvpd", .passIdentifier, "adobe-pass: the MVPD's id.", example: .commented("Cablevision"))
    softwareStatement = keys.secret(
      "softwareStatement", .line, "adobe-pass: file with the software statement that registers the client.",
      exampleFile: .commented("/run/secrets/software-statement"))
    deviceIDFile = keys.optional(
      "deviceIdFile", .place, "adobe-pass: file that keeps the device's id across restarts; made when it is missing.",
      example: .commented("/var/lib/postern/device-id"))
    deviceInfo = keys.texts(
      "deviceInfo",
      """
      adobe-pass: what X-Device-Info tells about the device: model, version, osName, osVersion, connectionType, primaryHardwareType, \
      manufacturer, vendor, applicationId, … Left out: this sidecar on Linux.
      """,
      example: .commented(["model": "Settop", "osName": "Linux"]))
    DeviceInformation.check(deviceInfo, keys)
  }
}

extension ValueForm where Value == String {
  /// An id that stands in a path of the API as a segment of its own.
  fileprivate static var passIdentifier: Self {
    var form = text
    form.parse = { scalar, context throws(ValueProblem) in
      let identifier = try line(scalar, context)
      guard identifier.utf8.count <= 128, identifier != ".", identifier != ".." else {
        throw ValueProblem("must be an id of at most 128 bytes")
      }
      return identifier
    }
    return form
  }
}
