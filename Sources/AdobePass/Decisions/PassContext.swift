import Entitlements
import HTTPMessages
import OAuthClient
import PosternCrypto
import PosternJSON
import PosternSupport

/// The member `pass` of a preauthorization's context: the MVPD, the device, and what proves its user.
struct PassContext {
  /// The name of the member.
  static let member = "pass"

  /// The MVPD, where the call names one.
  let mvpd: String?
  /// The rest.
  let options: PassOptions

  /// Reads the member, which may be missing. `now` is compared with the end of a service token; in the distant past
  /// none has expired.
  init(_ context: JSONObject, at now: Timestamp) throws(PassParameterError) {
    guard let value = context[Self.member] else {
      mvpd = nil
      options = PassOptions()
      return
    }
    let reader = try PassParameters(value, [])
    let known = ["mvpd", "device", "visitorId", "platform", "serviceToken", "partner"]
    try reader.check(known)
    mvpd = try reader.text("mvpd")
    if let mvpd { try PassOptions.checkSegment(mvpd, ["mvpd"], maxBytes: PassCall.maxIdentifierBytes) }
    var options = PassOptions()
    if let device = try reader.object("device") {
      try device.check(["id", "info", "address"])
      var information: [String: String] = [:]
      if let info = try device.object("info") {
        for name in info.names { information[name] = try info.text(name) }
      }
      options.device = PassDevice(
        id: try device.text("id").map { Secret($0) }, information: information, address: try device.text("address"))
    }
    options.visitorID = try reader.text("visitorId").map { Secret($0) }
    if let platform = try reader.object("platform") {
      try platform.check(["name", "token"])
      guard let name = try platform.text("name").flatMap(PassPlatformToken.Platform.init) else {
        throw PassParameterError(["platform", "name"], "must be amazon or roku")
      }
      options.platform = PassPlatformToken(name, token: Secret(try platform.required("token")))
    }
    options.serviceToken = try reader.text("serviceToken").map { Secret($0) }
    if let partner = try reader.object("partner") {
      try partner.check(["name", "frameworkStatus", "samlResponse"])
      guard let status = try partner.object("frameworkStatus") else {
        throw PassParameterError(["partner", "frameworkStatus"], "is missing")
      }
      options.partner = PassPartner(
        name: try partner.required("name"), frameworkStatus: status.object,
        samlResponse: try partner.text("samlResponse").map { Secret($0) })
    }
    try options.check(for: .preauthorize, at: now)
    self.options = options
  }

  /// Returns the context with that MVPD. Its key has `marks`, which change when the login does, and hashes of what
  /// proves the user: decisions for another user, device or login are others.
  func resolved(
    _ context: JSONObject, mvpd: String, marks: String, device: AdobePassDevice
  ) -> ResolvedContext {
    var values = context
    var pass = context[Self.member]?.objectValue ?? JSONObject()
    pass["mvpd"] = .string(mvpd)
    values[Self.member] = .object(pass)
    var key = context
    let partner = options.partner.map { JSONWriter().string(.object($0.frameworkStatus)) }
    let proofs: [String?] = [
      options.platform.map { $0.platform.rawValue + $0.token.reveal() }, options.serviceToken?.reveal(), partner,
      device.identifier, device.information, options.device.address,
    ]
    key[Self.member] = [
      "mvpd": .string(mvpd), "marks": .string(marks),
      "proofs": .string(
        Base64URL.string(HashFunction.sha256.hash("pass", of: proofs.map { $0.map { "+" + $0 } ?? "" }))),
    ]
    return ResolvedContext(values, key: key)
  }
}

/// Reads a nested object of parameters.
private struct PassParameters {
  let object: JSONObject
  private let path: [ParameterPath.Component]

  init(_ value: JSONValue, _ path: [ParameterPath.Component]) throws(PassParameterError) {
    guard let object = value.objectValue else { throw PassParameterError(ParameterPath(path), "must be an object") }
    self.object = object
    self.path = path
  }

  var names: [String] { object.names }

  /// Throws for a member that is not in `known`.
  func check(_ known: [String]) throws(PassParameterError) {
    guard let stranger = object.names.first(where: { !known.contains($0) }) else { return }
    throw PassParameterError(
      ParameterPath(path + [.name(stranger)]),
      Suggestion.appended(to: "is no member of it", for: stranger, among: known))
  }

  func text(_ name: String) throws(PassParameterError) -> String? {
    guard let value = object[name] else { return nil }
    guard let text = value.stringValue else {
      throw PassParameterError(ParameterPath(path + [.name(name)]), "must be a string")
    }
    return text
  }

  func required(_ name: String) throws(PassParameterError) -> String {
    guard let text = try text(name) else { throw PassParameterError(ParameterPath(path + [.name(name)]), "is missing") }
    return text
  }

  func object(_ name: String) throws(PassParameterError) -> PassParameters? {
    guard let value = object[name] else { return nil }
    return try PassParameters(value, path + [.name(name)])
  }
}
