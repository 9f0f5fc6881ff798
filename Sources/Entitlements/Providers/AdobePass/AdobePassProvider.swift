public import HTTPMessages
public import PosternJSON
public import PosternSupport

/// Adobe Pass Authentication, REST API v2: preauthorization of a device for a service provider at an MVPD.
public final class AdobePassProvider: DecisionProvider {
  /// What of it is configured.
  public struct Settings: Sendable {
    /// The base URL.
    public var baseURL: HTTPURL
    /// The service provider (requestor) id.
    public var serviceProvider: String
    /// The MVPD's id.
    public var mvpd: String
    /// What registers the client (RFC 7591 section 2.3).
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

  /// The member of `context` with the address of the end user's device.
  static let addressMember = "ip"

  private let device: AdobePassDevice
  private let client: AdobePassClient
  private let url: HTTPURL

  /// Nobody has published how its servers are told not to answer out of what they remember.
  public let unhonoredFeatures: Set<PreauthorizeRequest.Feature> = [.remoteCache]
  /// The device stands for its user.
  public let needsSubject = false

  /// A service provider and an MVPD of these settings; throws when the base URL leaves no room for the API's paths.
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

  /// The address must be one.
  public func complaint(about context: JSONObject) -> DecisionContextComplaint? {
    guard context[Self.addressMember] != nil, Self.address(in: context) == nil else { return nil }
    return DecisionContextComplaint(about: Self.addressMember, "must be an IP address")
  }

  /// One question about the whole batch. A token that is refused is replaced once; the client only when the server does
  /// not know it, and says so where no answer to another question can arrive: that costs every user the login.
  public func evaluate(
    _ batch: DecisionBatch, over link: DecisionClient
  ) async throws(DecisionFault) -> [DecisionVerdict?] {
    let request = request(batch)
    var token = try await link.clients.token(of: client, device: device, over: link)
    var response = try await post(request, token, link, .question)
    if Self.refusesToken(response) {
      token = try await link.clients.token(of: client, replacing: token, device: device, over: link)
      response = try await post(request, token, link, .confirmation)
    }
    if Self.refusesClient(response) {
      token = try await link.clients.token(
        of: client, replacing: token, isForeign: true, device: device, over: link)
      response = try await post(request, token, link, .confirmation)
    }
    let trace = Self.trace(of: response)
    guard !Self.refusesToken(response) else {
      let code = Self.said(response).flatMap { EnhancedErrorTable[$0.code] == nil ? nil : $0.code }
      throw DecisionFault(
        .accessTokenUnavailable(
          "the decision point refuses the sidecar's access token with \(response.status)\(code.map { " \($0)" } ?? "")"
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

  /// Whether it is the sidecar's own credentials that are not accepted.
  private static func refusesToken(_ response: HTTPResponse) -> Bool {
    response.status == 401 || refusesClient(response)
  }

  /// Whether another registration is what helps.
  private static func refusesClient(_ response: HTTPResponse) -> Bool {
    said(response)?.action == "application-registration"
  }

  /// The error that an answer is as a whole.
  private static func said(_ response: HTTPResponse) -> Status? {
    guard DecisionReply.isJSON(response), let document = try? DecisionReply.parser.parse(response.body),
      document["decisions"] == nil
    else { return nil }
    return EnhancedError.read(in: document, status: response.status)
  }

  /// By what support finds the request.
  private static func trace(of response: HTTPResponse) -> String? {
    response.fields["Adobe-Request-Id"].flatMap { identifier in
      (1...128).contains(identifier.utf8.count) && identifier.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        ? identifier : nil
    }
  }
}
