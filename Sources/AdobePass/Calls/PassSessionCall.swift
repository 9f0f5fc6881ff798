import Entitlements
import HTTPMessages
import OAuthClient
import PosternJSON
public import PosternSupport
import SessionRecords

/// The parameters of a login. What is left out is not sent: the answer names it as missing.
public struct PassLoginParameters: Sendable, Hashable {
  /// The MVPD that the user chose.
  public var mvpd: String?
  /// The domain of the service provider; one of `domainNames` of the configuration.
  public var domainName: String?
  /// Where the browser comes back to; one of `redirectUrls` of the configuration.
  public var redirectURL: String?

  /// Parameters of the given values.
  public init(mvpd: String? = nil, domainName: String? = nil, redirectURL: String? = nil) {
    self.mvpd = mvpd
    self.domainName = domainName
    self.redirectURL = redirectURL
  }

  /// The members of a form. Throws for a value that the configuration does not allow.
  func form(_ settings: AdobePassLoginSettings) throws(PassParameterError) -> [(name: String, value: String)] {
    var form: [(name: String, value: String)] = []
    if let mvpd {
      try PassOptions.checkSegment(mvpd, ["mvpd"], maxBytes: PassCall.maxIdentifierBytes)
      form.append(("mvpd", mvpd))
    }
    if let domainName {
      guard settings.domainNames.contains(where: { $0.hasSameBytes(as: domainName) }) else {
        throw PassParameterError(["domainName"], "is not in the configuration (domainNames)")
      }
      form.append(("domainName", domainName))
    }
    if let redirectURL {
      try settings.check(redirectURL)
      form.append(("redirectUrl", redirectURL))
    }
    return form
  }
}

extension AdobePassLoginSettings {
  /// Throws for a URL that browsers may not come back to.
  func check(_ redirectURL: String) throws(PassParameterError) {
    guard redirectURLs.contains(where: { $0.hasSameBytes(as: redirectURL) }) else {
      throw PassParameterError(["redirectUrl"], "is not in the configuration (redirectUrls)")
    }
  }
}

/// Starts, completes and shows logins by their codes.
struct PassSessionCall {
  let call: PassCall

  func create(_ parameters: PassLoginParameters, _ options: PassOptions) async throws(PassError) -> PassSession {
    let endpoint: PassEndpoint = options.partner == nil ? .createSession : .partnerSession
    guard options.partner == nil || parameters.mvpd == nil else {
      throw PassError(PassParameterError(["mvpd"], "is not sent with partner"))
    }
    let exchange = try call.exchange(options, for: endpoint)
    var request = PassRequest(endpoint: endpoint, method: "POST", segments: ["sessions"])
    if let partner = options.partner {
      request = PassRequest(endpoint: endpoint, method: "POST", segments: ["sessions", "sso", partner.name])
    }
    request.form = try call.valid { () throws(PassParameterError) in try parameters.form(call.provider.settings.login) }
    let answer = try await call.answer(request, exchange, mvpd: parameters.mvpd)
    let (session, life) = try answer.read { (answer) throws(PassError) in try self.session(answer, of: endpoint) }
    if let code = session.code {
      let key = PassCodes.Key(call.provider.client, code)
      call.state.codes.begin(key, life: life ?? PassCodes.usualLife, of: exchange.device, for: call.link.subject.uid)
    }
    try await keep(session, exchange)
    return session
  }

  func resume(
    _ code: String, _ parameters: PassLoginParameters, _ options: PassOptions
  ) async throws(PassError) -> PassSession {
    let exchange = try call.exchange(options, for: .resumeSession)
    try call.valid { () throws(PassParameterError) in try Self.check(code) }
    var request = PassRequest(endpoint: .resumeSession, method: "POST", segments: ["sessions", code])
    request.form = try call.valid { () throws(PassParameterError) in try parameters.form(call.provider.settings.login) }
    let answer = try await answer(request, about: code, exchange, mvpd: parameters.mvpd)
    let (session, life) = try answer.read { (answer) throws(PassError) in
      try self.session(answer, of: PassEndpoint.resumeSession)
    }
    if let life { call.state.codes.setLife(life, of: .init(call.provider.client, code)) }
    if !options.isSecondScreen { try await keep(session, exchange) }
    return session
  }

  func status(of code: String, _ options: PassOptions) async throws(PassError) -> PassSessionStatus {
    let exchange = try call.exchange(options, for: .getSession)
    try call.valid { () throws(PassParameterError) in try Self.check(code) }
    let request = PassRequest(endpoint: .getSession, method: "GET", segments: ["sessions", code])
    let answer = try await answer(request, about: code, exchange)
    return try answer.read { (answer) throws(PassError) in try status(answer, of: code) }
  }

  private func status(_ answer: PassAnswer, of code: String) throws(PassError) -> PassSessionStatus {
    let reading = try PassReading(answer.document, "session")
    let known = try reading.object("existingParameters", "existing")
    let missing = Self.parameterNames(try reading.texts("missingParameters", "missing"))
    let device = try reading.object("device")
    return PassSessionStatus(
      code: code, serviceProvider: try known?.text("serviceProvider"), mvpd: try known?.text("mvpd"),
      domainName: try known?.text("domainName", "domain"), redirectURL: try known?.text("redirectUrl"),
      missingParameters: missing,
      authenticateURL: missing.isEmpty
        ? try authenticateURL(code) : nil,
      notBefore: try reading.time("notBefore"), expiresAt: try reading.time("notAfter"),
      device: try device.map { (device) throws(PassError) in
        PassSessionStatus.Device(
          type: try device.text("type"), model: try device.text("model"),
          applicationID: try device.text("applicationId"))
      })
  }

  /// Sends a request about `code`, which remains wrong where Adobe calls it so.
  private func answer(
    _ request: PassRequest, about code: String, _ exchange: PassExchange, mvpd: String? = nil
  ) async throws(PassError) -> PassAnswer {
    do throws(PassError) {
      return try await call.answer(request, exchange, mvpd: mvpd)
    } catch {
      if error.next == .newCode {
        call.state.codes.note(
          .failed(error), about: .init(call.provider.client, code), for: call.provider.settings.login.pollInterval,
          of: exchange.poller)
      }
      throw error
    }
  }

  static func check(_ code: String) throws(PassParameterError) {
    try PassOptions.checkSegment(code, ["code"], maxBytes: PassCall.maxCodeBytes)
  }

  private func authenticateURL(_ code: String) throws(PassError) -> String {
    let segments = ["api", "v2", "authenticate", call.provider.settings.serviceProvider, code]
    let path = segments.map { PercentEncoding.encode($0, for: .pathSegment) }.joined(separator: "/")
    do throws(HTTPURLError) {
      return try call.provider.settings.baseURL.appending(relativePath: path).description
    } catch {
      throw .format("the URL of the login cannot be written: \(error.phrase)")
    }
  }

  /// Stores the MVPD of a login that exists already.
  private func keep(_ session: PassSession, _ exchange: PassExchange) async throws(PassError) {
    guard session.actionName == "authorize", let mvpd = session.mvpd,
      session.reasonType == "authenticated" || session.reasonType == "authenticatedSSO"
    else { return }
    _ = try await call.keep(mvpd, nil, exchange)
  }

  /// The names of parameters as calls have them: an older edition reports another name.
  private static func parameterNames(_ names: [String]) -> [String] { names.map { $0 == "domain" ? "domainName" : $0 } }

  /// Reads a session, with the rest of its code's life where Adobe gives its end.
  private func session(
    _ answer: PassAnswer, of endpoint: PassEndpoint
  ) throws(PassError) -> (PassSession, life: Duration?) {
    let reading = try PassReading(answer.document, "session")
    guard let name = try reading.identifier("actionName"), let type = try reading.identifier("actionType") else {
      throw .format("the session does not name what is next")
    }
    let action = PassAction(name: name, type: type)
    guard PassAction.ofSessions(endpoint).contains(action) else {
      throw .format("\(action) is unknown, or no answer to this call")
    }
    let code = try reading.identifier("code", maxBytes: PassCall.maxCodeBytes)
    let url = try reading.identifier("url", maxBytes: HTTPURL.maxBytes).map { (text) throws(PassError) in
      try call.provider.settings.openable(text)
    }
    if name == "authenticate", code == nil || url == nil { throw .format("\(action) has no code or no url") }
    if name == "resume", code == nil { throw .format("\(action) has no code") }
    let request = try reading.object("authenticationRequest").map { (request) throws(PassError) in
      guard let text = try request.identifier("request", maxBytes: 1 << 20) else {
        throw PassError.format("\(action) has no request for the partner's framework")
      }
      return PassAuthenticationRequest(
        type: try request.text("type") ?? "saml", request: text,
        attributeNames: try request.texts("attributesNames"))
    }
    if name == "partner_profile", request == nil {
      throw .format("\(action) has no request for the partner's framework")
    }
    let notAfter = try reading.time("notAfter")
    let life = notAfter.map { max(.zero, $0 - answer.serverTime) }
    let session = PassSession(
      actionName: name, actionType: type, reasonType: try reading.text("reasonType", "reason"),
      serviceProvider: try reading.text("serviceProvider"), sessionID: try reading.text("sessionId"), code: code,
      url: url, mvpd: try reading.mvpd("mvpd"),
      missingParameters: Self.parameterNames(try reading.texts("missingParameters", "missing")),
      authenticationRequest: request, notBefore: try reading.time("notBefore"),
      expiresAt: notAfter ?? (code == nil ? nil : call.clock.wallNow + PassCodes.usualLife))
    return (session, life)
  }
}

/// The next step that an answer requires: the pair of a name and a type. Only pairs that are documented for the
/// endpoint count.
struct PassAction: Hashable, CustomStringConvertible {
  let name: String
  let type: String

  /// Name and type, as far as they are plain words: a server can put anything there, and errors are logged.
  var description: String {
    let words = [name, type]
    let arePlain = words.allSatisfy { word in
      word.utf8.count <= 40 && word.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == 0x5F }
    }
    return arePlain ? words.joined(separator: "/") : "the action"
  }

  /// The pairs that may answer a login.
  static func ofSessions(_ endpoint: PassEndpoint) -> Set<PassAction> {
    let authenticate = PassAction(name: "authenticate", type: "interactive")
    let authorize = PassAction(name: "authorize", type: "direct")
    let resume = PassAction(name: "resume", type: "direct")
    switch endpoint {
    case .createSession: return [authenticate, authorize, resume]
    case .resumeSession: return [authenticate, authorize, PassAction(name: "retry", type: "direct")]
    case .partnerSession:
      return [authenticate, authorize, resume, PassAction(name: "partner_profile", type: "direct")]
    default: return []
    }
  }

  /// The pairs that may answer a logout.
  static let ofLogouts: Set<PassAction> = [
    PassAction(name: "logout", type: "interactive"), PassAction(name: "partner_logout", type: "partner_interactive"),
    PassAction(name: "complete", type: "none"), PassAction(name: "invalid", type: "none"),
  ]
}

extension AdobePassProvider.Settings {
  /// Returns `text`, a URL or a path at the base URL's origin, as an absolute URL that a browser may open; throws for
  /// any other scheme or origin.
  func openable(_ text: String) throws(PassError) -> String {
    let absolute = text.startsWithBytes(of: "/") && !text.startsWithBytes(of: "//") ? "\(baseURL.origin)\(text)" : text
    guard let url = try? HTTPURL(absolute),
      url.origin.scheme == "https" || baseURL.origin.scheme == "http",
      url.origin == baseURL.origin || login.urlOrigins.contains(url.origin)
    else { throw .format("the URL to open is not of an allowed origin (urlOrigins)") }
    return absolute
  }
}

extension PassLoginParameters: ConciseStringConvertible {
  /// The MVPD.
  public var description: String { Concise.text("login", mvpd.map { "at \(Concise.name($0))" }) }
}
