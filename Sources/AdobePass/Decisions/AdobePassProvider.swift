public import Entitlements
public import HTTPMessages
import OAuthClient
public import PosternJSON
public import PosternSupport
import SessionRecords

/// Adobe Pass Authentication, REST API v2, for one service provider: `preauthorize` at the MVPD of a device's login,
/// and the requests of `PassClient`.
public final class AdobePassProvider: DecisionProvider {
  /// The configuration of the decision point.
  public struct Settings: Sendable {
    /// The base URL.
    public var baseURL: HTTPURL
    /// The service provider (requestor) id.
    public var serviceProvider: String
    /// The id of the MVPD where neither a call nor a login names one; nil for none.
    public var mvpd: String?
    /// The software statement that registers the client (RFC 7591 section 2.3).
    public var softwareStatement: Secret<String>
    /// The device.
    public var device: AdobePassDevice
    /// The values that calls of `PassClient` may give and its answers may contain.
    public var login = AdobePassLoginSettings()

    /// The service provider at the server of `baseURL`.
    public init(
      baseURL: HTTPURL, serviceProvider: String, mvpd: String?, softwareStatement: Secret<String>,
      device: AdobePassDevice
    ) {
      self.baseURL = baseURL
      self.serviceProvider = serviceProvider
      self.mvpd = mvpd
      self.softwareStatement = softwareStatement
      self.device = device
    }
  }

  /// The member of `context` with the IP address of the end user's device.
  static let addressMember = "ip"

  let settings: Settings
  let client: AdobePassClient
  let state: AdobePassState
  /// The URL of the API for the service provider.
  let url: HTTPURL

  /// There is no published way to make the servers bypass their cache.
  public let unhonoredFeatures: Set<PreauthorizeRequest.Feature> = [.remoteCache]
  /// The device identifies its user.
  public let needsSubject = false

  /// A service provider of these settings; throws when the API's paths cannot be appended to the base URL. `state` is
  /// that of the process, for all providers of all configurations.
  public init(_ settings: Settings, state: AdobePassState) throws(HTTPURLError) {
    self.settings = settings
    self.state = state
    client = try AdobePassClient(
      baseURL: settings.baseURL, serviceProvider: settings.serviceProvider,
      softwareStatement: settings.softwareStatement)
    let provider = PercentEncoding.encode(settings.serviceProvider, for: .pathSegment)
    url = try settings.baseURL.appending(relativePath: "api/v2/\(provider)")
  }

  /// Checks that the address is an IP address, and that `pass` has what a request takes.
  public func contextError(in context: JSONObject) -> DecisionContextError? {
    guard context[Self.addressMember] == nil || Self.address(in: context) != nil else {
      return DecisionContextError(about: Self.addressMember, "must be an IP address")
    }
    do throws(PassParameterError) {
      _ = try PassContext(context, at: state.clock.wallNow)
      return nil
    } catch {
      return DecisionContextError(about: PassContext.member, error.reason, path: error.path)
    }
  }

  /// Finds the MVPD: the call's, else the one that the device's user chose, else the configured one. Decisions depend
  /// on it, on the device, and on what proves its user; they end with the login.
  public func resolved(
    _ context: JSONObject, over link: DecisionClient
  ) async throws(DecisionFault) -> ResolvedContext {
    let pass: PassContext
    do throws(PassParameterError) {
      pass = try PassContext(context, at: state.clock.wallNow)
    } catch {
      throw DecisionFault(.requestorNotConfigured("context.pass\(error.path.jsonPointer) \(error.reason)"))
    }
    let device = settings.device.replaced(by: pass.options.device)
    let login: PassLogin?
    do throws(StoreError) {
      login = try await state.logins.login(of: client, device, over: link)
    } catch {
      throw DecisionFault(
        .accessTokenUnavailable("the login cannot be read: \(error.description)"),
        retry: error.isRetryable ? .after(error.retryAfter) : .never)
    }
    guard let mvpd = pass.mvpd ?? login?.mvpd ?? settings.mvpd else {
      throw DecisionFault(.sessionMissing("no MVPD is chosen: the device has no login"))
    }
    if let login, login.mvpd.hasSameBytes(as: mvpd), let profile = login.profile,
      profile.hasEnded(at: state.clock.wallNow)
    {
      throw DecisionFault(.sessionExpired)
    }
    return pass.resolved(context, mvpd: mvpd, marks: state.logins.marks(of: client, device, login), device: device)
  }

  /// Evaluates the whole batch in one request.
  public func evaluate(
    _ batch: DecisionBatch, over link: DecisionClient
  ) async throws(DecisionFault) -> [DecisionVerdict?] {
    guard let pass = try? PassContext(batch.context, at: Timestamp(millisecondsSinceEpoch: 0)), let mvpd = pass.mvpd
    else {
      throw .format("the request names no MVPD")
    }
    let device = settings.device.replaced(by: pass.options.device)
    var options = pass.options
    options.device.address = options.device.address ?? Self.address(in: batch.context)
    var request = HTTPRequest(
      method: "POST", url: try self.url("decisions", "preauthorize", mvpd),
      fields: PassHeaders(options, device, for: .preauthorize).fields,
      body: JSONWriter().write(["resources": .array(batch.resources.map { .string($0.text) })]))
    request.fields["Content-Type"] = Self.jsonType
    let response = try await authorized(over: link) {
      (token, purpose) async throws(DecisionFault) -> HTTPResponse in
      var authorized = request
      authorized.fields["Authorization"] = "Bearer \(token.value.reveal())"
      return try await link.exchange(authorized, for: purpose)
    } failure: { fault, response in
      guard let response, fault.status.isLocal, !fault.isOutage else { return fault }
      return Self.action(of: response).map(fault.suggesting) ?? fault
    }
    let trace = Self.trace(of: response)
    guard !Self.rejectsToken(response) else { throw DecisionFault(Self.rejection(response).traced(trace)) }
    do throws(DecisionFault) {
      let verdicts = try AdobePassReply.verdicts(
        in: try DecisionReply.document(of: response, trace: trace), about: batch.resources, of: response, trace: trace)
      for case .deny(let status, _)? in verdicts { await noteEnd(status, of: mvpd, device, over: link) }
      return verdicts
    } catch {
      await noteEnd(error.status, of: mvpd, device, over: link)
      throw error
    }
  }

  /// The media type of JSON bodies.
  static let jsonType = "application/json;charset=utf-8"

  /// An answer, and whether it rejects the client: read once for that, since a configuration may be large.
  private struct AuthorizedAnswer {
    let token: AdobePassToken
    let response: HTTPResponse
    let rejectsClient: Bool
  }

  /// Sends a request with an access token. A rejected token is replaced once; the client only when the server does not
  /// know it, and answers so on a connection where no answer to another request can arrive: a new client costs every
  /// user the login. The requests for client and token are those of all callers: none describes them by its own device.
  /// `failure` gets the answer that rejected the token, too, where there is no other one.
  func authorized<Failure: Error>(
    over link: DecisionClient,
    send: (AdobePassToken, DecisionPurpose) async throws(Failure) -> HTTPResponse,
    failure: (DecisionFault, HTTPResponse?) -> Failure
  ) async throws(Failure) -> HTTPResponse {
    func token(
      replacing rejected: AdobePassToken?, isUnknownClient: Bool = false, after response: HTTPResponse? = nil
    ) async throws(Failure) -> AdobePassToken {
      do throws(DecisionFault) {
        return try await state.clients.token(
          of: client, replacing: rejected, isUnknownClient: isUnknownClient, device: settings.device, over: link)
      } catch {
        throw failure(error, response)
      }
    }
    let answer = try await retryOnce { (rejected) async throws(Failure) -> AdobePassToken in
      try await token(replacing: rejected?.token, after: rejected?.answer.response)
    } send: { (token, isRetry) async throws(Failure) -> AuthorizedAnswer in
      let response = try await send(token, isRetry ? .confirmation : .question)
      return AuthorizedAnswer(token: token, response: response, rejectsClient: Self.rejectsClient(response))
    } ifRejected: {
      $0.response.status == 401 || $0.rejectsClient
    }
    guard answer.rejectsClient else { return answer.response }
    let newer = try await token(replacing: answer.token, isUnknownClient: true, after: answer.response)
    return try await send(newer, .confirmation)
  }

  /// The URL of the API with these segments.
  func url(_ segments: String...) throws(DecisionFault) -> HTTPURL {
    do throws(HTTPURLError) {
      return try url.appending(
        relativePath: segments.map { PercentEncoding.encode($0, for: .pathSegment) }.joined(separator: "/"))
    } catch {
      throw .format("the URL of the request cannot be written: \(error.phrase)")
    }
  }

  /// Forgets the login where Adobe's answer shows that it is over.
  func noteEnd(
    _ status: Status, of mvpd: String, _ device: AdobePassDevice, over link: DecisionClient
  ) async {
    guard PassNextStep(status) == .login, !status.code.startsWithBytes(of: "temporary_access_") else { return }
    await state.logins.dropProfile(of: mvpd, client, device, over: link)
  }

  private static func address(in context: JSONObject) -> String? {
    context[addressMember]?.stringValue.flatMap { IPAddress($0) == nil ? nil : $0 }
  }

  /// The status of a call whose access token is rejected.
  static func rejection(_ response: HTTPResponse) -> Status {
    let code = error(in: response).flatMap { EnhancedErrorTable[$0.code] == nil ? nil : $0.code }
    let status = Status.accessTokenUnavailable(
      "the decision point rejects the sidecar's access token with \(response.status)\(code.map { " \($0)" } ?? "")")
    return action(of: response).map { status.suggesting($0) } ?? status
  }

  /// The action that an answer suggests, if it is a published one: another text might quote the token.
  private static func action(of response: HTTPResponse) -> String? {
    error(in: response).flatMap { EnhancedError.actions.contains($0.action) ? $0.action : nil }
  }

  /// Whether the sidecar's own credentials are rejected.
  static func rejectsToken(_ response: HTTPResponse) -> Bool {
    response.status == 401 || rejectsClient(response)
  }

  /// Whether a new registration would help.
  private static func rejectsClient(_ response: HTTPResponse) -> Bool {
    error(in: response)?.action == "application-registration"
  }

  /// Returns the error of an answer without decisions. The code of a session is none.
  static func error(in response: HTTPResponse) -> Status? {
    (try? DecisionReply.parser.parse(response.body)).flatMap { error(in: $0, status: response.status) }
  }

  /// Returns the error that `document` is, or that it has in a member of its own.
  static func error(in document: JSONValue, status: Int, trace: String? = nil) -> Status? {
    guard document["decisions"] == nil else { return nil }
    let isBare = document["code"] != nil && (status >= 400 || document["action"] != nil || document["message"] != nil)
    guard isBare || document["error"] != nil || document["errors"] != nil else { return nil }
    return EnhancedError.read(in: document, status: status, trace: trace)
  }

  /// Returns the identifier by which the operator of the server finds the request.
  static func trace(of response: HTTPResponse) -> String? {
    RequestIdentifier.checked(response.fields["Adobe-Request-Id"])
  }
}

/// The values that calls of `PassClient` may give and its answers may contain.
public struct AdobePassLoginSettings: Sendable {
  /// Where browsers may come back to (`redirectUrl`).
  public var redirectURLs: Set<String> = []
  /// The domains that calls may name (`domainName`).
  public var domainNames: Set<String> = []
  /// The origins of URLs that browsers open, with that of the base URL.
  public var urlOrigins: Set<HTTPURL.Origin> = []
  /// The shortest time between two requests about one code.
  public var pollInterval = Duration.seconds(5)

  /// No login but at the base URL, until more is set.
  public init() {}
}

/// The device as it is described to Adobe Pass: an id that must never change, and its properties.
public struct AdobePassDevice: Sendable {
  /// The value of `AP-Device-Identifier`.
  let identifier: String
  /// The value of `X-Device-Info`.
  let information: String
  private let members: JSONObject

  /// The device of that id, described by the members of `information`.
  public init(identifier: Secret<String>, information: JSONObject) {
    self.init("fingerprint \(Base64.string(Array(identifier.reveal().utf8)))", information)
  }

  private init(_ identifier: String, _ members: JSONObject) {
    self.identifier = identifier
    self.members = members
    information = Base64.string(JSONWriter().write(.object(members)))
  }

  /// Returns the device of a call: itself where the call names no other.
  func replaced(by device: PassDevice) -> AdobePassDevice {
    guard device.id != nil || !device.information.isEmpty else { return self }
    var members = members
    for (name, value) in device.information.sorted(by: { $0.key < $1.key }) { members[name] = .string(value) }
    guard let id = device.id else { return AdobePassDevice(identifier, members) }
    return AdobePassDevice(identifier: id, information: members)
  }
}

/// The state that the calls to Adobe Pass of one process share: registered clients and their tokens, logins, codes and
/// configurations. Create one for the life of the process.
public final class AdobePassState: Sendable {
  let clock: any EngineClock
  let clients: AdobePassClients
  let logins: PassLogins
  let codes: PassCodes
  let configurations: PassConfigurations

  /// Nothing yet.
  public init(clock: any EngineClock) {
    self.clock = clock
    let clients = AdobePassClients(clock: clock)
    self.clients = clients
    logins = PassLogins(clock: clock, clients: clients)
    codes = PassCodes(clock: clock)
    configurations = PassConfigurations(clock: clock)
  }
}

extension AdobePassProvider: ConciseStringConvertible {
  /// The URL.
  public var description: String { "Adobe Pass at \(url.shown)" }
}

extension AdobePassProvider.Settings: ConciseStringConvertible {
  /// URL, service provider and MVPD: never the software statement.
  public var description: String {
    Concise.text("Adobe Pass at \(baseURL.shown)", Concise.name(serviceProvider), mvpd.map { Concise.name($0) })
  }
}

extension AdobePassDevice: ConciseStringConvertible {
  /// Without the identifier, which is secret.
  public var description: String { "device" }
}

extension AdobePassLoginSettings: ConciseStringConvertible {
  /// Counts.
  public var description: String {
    Concise.text(Concise.count(redirectURLs.count, "redirect URL"), Concise.count(domainNames.count, "domain"))
  }
}

extension AdobePassState: ConciseStringConvertible {}
