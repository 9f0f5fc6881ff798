import HTTPMessages
import JOSE
import OAuthClient
import PosternJSON
import PosternSupport

/// The endpoints of the API below `/api/v2`, with what each takes and whether its requests may be repeated.
enum PassEndpoint: Sendable {
  case configuration
  case createSession
  case resumeSession
  case getSession
  case profiles
  case profile
  case profileOfCode
  case preauthorize
  case authorize
  case logout
  case partnerSession
  case partnerProfile

  /// Whether it takes the platform's token and a service token.
  var takesUserTokens: Bool {
    switch self {
    case .createSession, .profiles, .profile, .preauthorize, .authorize, .logout: true
    default: false
    }
  }

  /// Whether it takes the status of a partner's framework.
  var takesPartner: Bool {
    switch self {
    case .profiles, .profile, .preauthorize, .authorize, .partnerSession, .partnerProfile: true
    default: false
    }
  }

  /// Whether it takes the identity for a TempPass.
  var takesIdentity: Bool { self == .profile || self == .authorize }

  /// Whether its path ends with a code.
  var takesCode: Bool { self == .resumeSession || self == .getSession || self == .profileOfCode }

  /// Whether another screen than the device may call it: that has nothing but the code.
  var takesSecondScreen: Bool { takesCode }

  /// Whether a request without an answer may be repeated: it reads, or has the same effect twice.
  func isRepeatable(with options: PassOptions) -> Bool {
    switch self {
    case .configuration, .getSession, .profiles, .profile, .logout: true
    // A promotional TempPass counts the titles that are played.
    case .authorize: options.tempPassIdentity == nil
    case .createSession, .resumeSession, .profileOfCode, .preauthorize, .partnerSession, .partnerProfile: false
    }
  }

  /// Whether it is read once more after `internal_server_error`.
  var isReadAgain: Bool {
    switch self {
    case .configuration, .getSession, .profiles, .profile: true
    default: false
    }
  }
}

extension PassOptions {
  private static let maxTokenBytes = 16 << 10
  private static let maxIdentityBytes = 4 << 10

  /// Checks what can be checked before anything is sent: that `endpoint` takes all of it, and that it is well-formed.
  func check(for endpoint: PassEndpoint, at now: Timestamp) throws(PassParameterError) {
    if isSecondScreen {
      guard endpoint.takesSecondScreen else { throw PassParameterError(["secondScreen"], "is not for this call") }
      guard device.id == nil, device.information.isEmpty, device.address == nil else {
        throw PassParameterError(["device"], "is not sent by a second screen")
      }
    }
    try device.check()
    if let visitorID {
      guard endpoint != .configuration else { throw PassParameterError(["visitorId"], "is not for this call") }
      try Self.checkText(visitorID.reveal(), ["visitorId"], maxBytes: 1024)
    }
    if let platform {
      guard endpoint.takesUserTokens else { throw PassParameterError(["platform"], "is not for this call") }
      try Self.checkText(platform.token.reveal(), ["platform", "token"], maxBytes: Self.maxTokenBytes)
    }
    if let serviceToken {
      guard endpoint.takesUserTokens else { throw PassParameterError(["serviceToken"], "is not for this call") }
      try Self.checkServiceToken(serviceToken.reveal(), at: now)
    }
    if let partner {
      guard endpoint.takesPartner else { throw PassParameterError(["partner"], "is not for this call") }
      try partner.check(for: endpoint)
    }
    if let identity = tempPassIdentity?.reveal() {
      guard endpoint.takesIdentity else { throw PassParameterError(["tempPass"], "is not for this call") }
      guard identity.utf8.count <= Self.maxIdentityBytes,
        let value = try? JSONParser(maxDepth: 16).parse(Array(identity.utf8)), value.objectValue != nil
      else {
        throw PassParameterError(
          ["tempPass", "identity"], "must be the JSON text of an object of at most \(Self.maxIdentityBytes) bytes")
      }
    }
  }

  /// Checks a text of 1 to `maxBytes` bytes without control characters.
  static func checkText(_ text: String, _ path: ParameterPath, maxBytes: Int) throws(PassParameterError) {
    guard (1...maxBytes).contains(text.utf8.count) else {
      throw PassParameterError(path, "must have 1 to \(maxBytes) bytes")
    }
    guard !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
      throw PassParameterError(path, "has a control character")
    }
  }

  /// Checks a text that becomes a segment of a path.
  static func checkSegment(_ text: String, _ path: ParameterPath, maxBytes: Int) throws(PassParameterError) {
    try checkText(text, path, maxBytes: maxBytes)
    guard text != ".", text != ".." else { throw PassParameterError(path, "must not be a step of a path") }
  }

  /// Checks that a service token is signed by RS256 and lives; whose signature it is, Adobe checks.
  private static func checkServiceToken(_ token: String, at now: Timestamp) throws(PassParameterError) {
    let path: ParameterPath = ["serviceToken"]
    try checkText(token, path, maxBytes: maxTokenBytes)
    guard let jws = try? CompactJWS(token), jws.header.algorithm == "RS256",
      let claims = try? jws.unverifiedClaims()
    else { throw PassParameterError(path, "must be a JWS that is signed with RS256") }
    guard let end = claims["exp"]?.numberValue, end > Double(now.millisecondsSinceEpoch) / 1000 else {
      throw PassParameterError(path, "has expired, or has no exp")
    }
  }
}

extension PassDevice {
  private static let maxIdentifierBytes = 256
  private static let maxMembers = 64
  private static let maxMemberBytes = 1024

  fileprivate func check() throws(PassParameterError) {
    if let id { try PassOptions.checkText(id.reveal(), ["device", "id"], maxBytes: Self.maxIdentifierBytes) }
    guard information.count <= Self.maxMembers else {
      throw PassParameterError(["device", "info"], "has more than \(Self.maxMembers) members")
    }
    for (name, value) in information.sorted(by: { $0.key < $1.key }) {
      let path: ParameterPath = ["device", "info", .name(name)]
      try PassOptions.checkText(name, path, maxBytes: Self.maxMemberBytes)
      try PassOptions.checkText(value, path, maxBytes: Self.maxMemberBytes)
    }
    if let address, IPAddress(address) == nil {
      throw PassParameterError(["device", "address"], "must be an IP address")
    }
  }
}

extension PassPartner {
  private static let maxNameBytes = 64
  private static let maxStatusBytes = 16 << 10
  private static let maxResponseBytes = 256 << 10

  fileprivate func check(for endpoint: PassEndpoint) throws(PassParameterError) {
    try PassOptions.checkSegment(name, ["partner", "name"], maxBytes: Self.maxNameBytes)
    guard JSONWriter().write(.object(frameworkStatus)).count <= Self.maxStatusBytes else {
      throw PassParameterError(["partner", "frameworkStatus"], "has more than \(Self.maxStatusBytes) bytes")
    }
    guard let samlResponse else { return }
    guard endpoint == .partnerProfile else {
      throw PassParameterError(["partner", "samlResponse"], "is not for this call")
    }
    guard (1...Self.maxResponseBytes).contains(samlResponse.reveal().utf8.count) else {
      throw PassParameterError(["partner", "samlResponse"], "must have 1 to \(Self.maxResponseBytes) bytes")
    }
  }

  /// The SAML response as Adobe takes it: without line ends, each run of blanks as one blank, in base64.
  var encodedResponse: String? {
    samlResponse.map { response in
      var bytes: [UInt8] = []
      for byte in response.reveal().utf8 where byte != 0x0D && byte != 0x0A {
        let isBlank = byte == 0x20 || byte == 0x09
        if isBlank && (bytes.isEmpty || bytes.last == 0x20) { continue }
        bytes.append(isBlank ? 0x20 : byte)
      }
      if bytes.last == 0x20 { bytes.removeLast() }
      return Base64.string(bytes)
    }
  }
}

/// The header fields of a call but its access token.
struct PassHeaders {
  let fields: HTTPFields

  /// The fields for `device` and what of `options` the endpoint takes.
  init(_ options: PassOptions, _ device: AdobePassDevice, for endpoint: PassEndpoint) {
    var fields = HTTPFields([.init(name: "Accept", value: "application/json")])
    if !options.isSecondScreen {
      fields["AP-Device-Identifier"] = device.identifier
      fields["X-Device-Info"] = device.information
      if let address = options.device.address { fields["X-Forwarded-For"] = address }
    }
    if let visitorID = options.visitorID { fields["AP-Visitor-Identifier"] = visitorID.reveal() }
    if let platform = options.platform { fields[platform.platform.field] = platform.token.reveal() }
    if let token = options.serviceToken { fields["AD-Service-Token"] = token.reveal() }
    if let partner = options.partner {
      fields["AP-Partner-Framework-Status"] = Base64.string(JSONWriter().write(.object(partner.frameworkStatus)))
    }
    if let identity = options.tempPassIdentity {
      fields["AP-TempPass-Identity"] = Base64.string(Array(identity.reveal().utf8))
    }
    self.fields = fields
  }
}
