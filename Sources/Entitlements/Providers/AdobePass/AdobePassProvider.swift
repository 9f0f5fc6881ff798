public import HTTPMessages
public import PosternJSON
public import PosternSupport

/// Adobe Pass Authentication, REST API v2: preauthorization of a device for a service provider at an MVPD.
public final class AdobePassProvider: DecisionProvider {
  /// The configuration of the decision point.
  public struct Settings: Sendable {
    /// The base URL.
    public var baseURL: HTTPURL
    /// The service provider (requestor) id.
    public var serviceProvider: String
    /// The MVPD's id.
    public var mvpd: String
    /// The software statement that registers the client (RFC 7591 section 2.3).
    public var softwareStatement: Secret<String>
    /// The device.
    public var device: AdobePassDevice

    /// `mvpd` at the server of `baseURL`.
    public init(
      baseURL: HTTPURL, serviceProvider: String, mvpd: String, softwareStatement: Secret<String>,
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

  private let device: AdobePassDevice
  private let client: AdobePassClient
  private let url: HTTPURL

  /// There is no published way to make the servers bypass their cache.
  public let unhonoredFeatures: Set<PreauthorizeRequest.Feature> = [.remoteCache]
  /// The device identifies its user.
  public let needsSubject = false

  /// A service provider and an MVPD of these settings; throws when the API's paths cannot be appended to the base URL.
  public init(_ settings: Settings) throws(HTTPURLError) {
    device = settings.device
    client = try AdobePassClient(
      baseURL: settings.baseURL, serviceProvider: settings.serviceProvider,
      softwareStatement: settings.softwareStatement)
    let (provider, mvpd) = (
      PercentEncoding.encode(settings.serviceProvider, for: .pathSegment),
      PercentEncoding.encode(settings.mvpd, for: .pathSegment)
    )
    url = try settings.baseURL.appending(relativePath: "api/v2/\(provider)/decisions/preauthorize/\(mvpd)")
  }

  /// Checks that the address is an IP address.
  public func contextError(in context: JSONObject) -> DecisionContextError? {
    guard context[Self.addressMember] != nil, Self.address(in: context) == nil else { return nil }
    return DecisionContextError(about: Self.addressMember, "must be an IP address")
  }

  /// Evaluates the whole batch in one request. A rejected token is replaced once; the client only when the server does
  /// not know it, and answers so on a connection where no answer to another request can arrive: a new client costs
  /// every user the login.
  public func evaluate(
    _ batch: DecisionBatch, over link: DecisionClient
  ) async throws(DecisionFault) -> [DecisionVerdict?] {
    let request = request(batch)
    var token = try await link.clients.token(of: client, device: device, over: link)
    var response = try await post(request, token, link, .question)
    if Self.rejectsToken(response) {
      token = try await link.clients.token(of: client, replacing: token, device: device, over: link)
      response = try await post(request, token, link, .confirmation)
    }
    if Self.rejectsClient(response) {
      token = try await link.clients.token(
        of: client, replacing: token, isUnknownClient: true, device: device, over: link)
      response = try await post(request, token, link, .confirmation)
    }
    let trace = Self.trace(of: response)
    guard !Self.rejectsToken(response) else {
      let code = Self.error(in: response).flatMap { EnhancedErrorTable[$0.code] == nil ? nil : $0.code }
      throw DecisionFault(
        .accessTokenUnavailable(
          "the decision point rejects the sidecar's access token with \(response.status)\(code.map { " \($0)" } ?? "")"
        ).traced(trace))
    }
    return try AdobePassReply.verdicts(
      in: try DecisionReply.document(of: response, trace: trace), about: batch.resources, of: response, trace: trace)
  }

  private func request(_ batch: DecisionBatch) -> HTTPRequest {
    var fields = HTTPFields([
      .init(name: "Accept", value: "application/json"),
      .init(name: "Content-Type", value: "application/json;charset=utf-8"),
      .init(name: "AP-Device-Identifier", value: device.identifier),
      .init(name: "X-Device-Info", value: device.information),
    ])
    if let address = Self.address(in: batch.context) { fields["X-Forwarded-For"] = address }
    let body: JSONValue = ["resources": .array(batch.resources.map { .string($0.text) })]
    return HTTPRequest(method: "POST", url: url, fields: fields, body: JSONWriter().write(body))
  }

  private func post(
    _ request: HTTPRequest, _ token: AdobePassToken, _ link: DecisionClient, _ purpose: DecisionPurpose
  ) async throws(DecisionFault) -> HTTPResponse {
    var request = request
    request.fields["Authorization"] = "Bearer \(token.value.reveal())"
    return try await link.exchange(request, for: purpose)
  }

  private static func address(in context: JSONObject) -> String? {
    context[addressMember]?.stringValue.flatMap { IPAddress($0) == nil ? nil : $0 }
  }

  /// Whether the sidecar's own credentials are rejected.
  private static func rejectsToken(_ response: HTTPResponse) -> Bool {
    response.status == 401 || rejectsClient(response)
  }

  /// Whether a new registration would help.
  private static func rejectsClient(_ response: HTTPResponse) -> Bool {
    error(in: response)?.action == "application-registration"
  }

  /// Returns the error of an answer without decisions.
  private static func error(in response: HTTPResponse) -> Status? {
    guard DecisionReply.isJSON(response), let document = try? DecisionReply.parser.parse(response.body),
      document["decisions"] == nil
    else { return nil }
    return EnhancedError.read(in: document, status: response.status)
  }

  /// Returns the identifier by which the operator of the server finds the request.
  private static func trace(of response: HTTPResponse) -> String? {
    RequestIdentifier.checked(response.fields["Adobe-Request-Id"])
  }
}

/// The device as it is described to Adobe Pass: an id that must never change, and its properties.
public struct AdobePassDevice: Sendable {
  /// The value of `AP-Device-Identifier`.
  let identifier: String
  /// The value of `X-Device-Info`.
  let information: String

  /// The device of that id, described by the members of `information`.
  public init(identifier: Secret<String>, information: JSONObject) {
    self.identifier = "fingerprint \(Base64.string(Array(identifier.reveal().utf8)))"
    self.information = Base64.string(JSONWriter().write(.object(information)))
  }
}

extension AdobePassProvider: ConciseStringConvertible {
  /// The URL.
  public var description: String { "Adobe Pass at \(url.shown)" }
}

extension AdobePassProvider.Settings: ConciseStringConvertible {
  /// URL, service provider and MVPD: never the software statement.
  public var description: String {
    "Adobe Pass at \(baseURL.shown), \(Concise.name(serviceProvider)), \(Concise.name(mvpd))"
  }
}

extension AdobePassDevice: ConciseStringConvertible {
  /// Without the identifier, which is secret.
  public var description: String { "device" }
}
