import Entitlements
import HTTPMessages
import OAuthClient
import PosternJSON
import PosternSupport

/// The requests of a client for its registration and its tokens.
struct AdobePassRequests: Sendable {
  /// A token, and the time of its request, from which its lifetime counts.
  struct Answer: Sendable {
    let token: Secret<String>
    let clientID: String
    let sent: MonotonicInstant
    let life: Duration
  }

  /// The error codes of registration endpoints; nothing else of their errors is passed on.
  private static let registrationCodes: Set<String> = [
    "invalid_client_metadata", "invalid_redirect_uri", "invalid_request", "invalid_software_statement", "server_error",
    "temporarily_unavailable", "unapproved_software_statement",
  ]

  let client: AdobePassClient
  let device: AdobePassDevice
  let link: DecisionClient

  /// Requests new credentials (`POST /o/client/register`; RFC 7591 section 3). The timeout is longer than for other
  /// requests, since the answer comes only once.
  func registration() async throws(AdobePassClientError) -> AdobePassRegistration {
    var fields = fields
    fields["Content-Type"] = "application/json"
    let body: JSONValue = ["software_statement": .string(client.softwareStatement.reveal())]
    let response = try await exchange(
      HTTPRequest(method: "POST", url: client.registration, fields: fields, body: JSONWriter().write(body)))
    if let registration = AdobePassRegistration(response, of: client) { return registration }
    guard !(200..<300).contains(response.status) else {
      throw .endpoint(
        TokenError(.malformed, "the registration endpoint's answer has no credentials", status: response.status),
        isUnknownClient: false)
    }
    var known = response
    let code = (try? DecisionReply.parser.parse(response.body))?["error"]?.stringValue
    known.body =
      code.flatMap { Self.registrationCodes.contains($0) ? JSONWriter().write(["error": .string($0)]) : nil } ?? []
    throw .endpoint(OAuthAnswer(known).failure(of: "registration endpoint"), isUnknownClient: false)
  }

  /// Requests a token with the client's credentials (`POST /o/client/token`; RFC 6749 section 4.4).
  func token(for registration: AdobePassRegistration) async throws(AdobePassClientError) -> Answer {
    let request = TokenEndpointRequest(
      endpoint: client.token, issuer: client.server, fields: fields,
      form: [
        ("grant_type", "client_credentials"), ("client_id", registration.clientID),
        ("client_secret", registration.clientSecret),
      ], options: TransferOptions())
    let sent = link.clock.monotonicNow
    var response = request.withoutEcho(try await exchange(request.httpRequest))
    if response.status == 201 { response.status = 200 }
    do throws(TokenError) {
      let answer = try TokenResponse(response)
      guard case .bearer = answer.type else {
        throw TokenError(.malformed, "the token endpoint's answer has a token of another type", status: response.status)
      }
      return Answer(
        token: Secret(answer.accessToken), clientID: registration.clientID, sent: sent,
        life: AdobePassToken.life(of: answer, in: response, at: link.clock.wallNow))
    } catch {
      throw .endpoint(error, isUnknownClient: Self.isUnknownClient(error, response))
    }
  }

  private var fields: HTTPFields {
    HTTPFields([
      .init(name: "Accept", value: "application/json"), .init(name: "X-Device-Info", value: device.information),
    ])
  }

  private func exchange(_ request: HTTPRequest) async throws(AdobePassClientError) -> HTTPResponse {
    do throws(DecisionFault) {
      return try await link.exchange(request, for: .shared, timeout: AdobePassClients.patience)
    } catch {
      let details = "\(request.url.path) cannot be reached: \(error.status.details ?? error.status.message)"
      // An outage proves nothing about the credentials.
      guard error.isOutage else { throw .trouble(details, retry: error.retry) }
      throw .fault(DecisionFault(.networkError(details), retry: error.retry))
    }
  }

  /// Whether the error is `invalid_client`, or an enhanced error of that meaning.
  private static func isUnknownClient(_ error: TokenError, _ response: HTTPResponse) -> Bool {
    guard case .rejected(let reason) = error.kind else { return false }
    if reason?.code == "invalid_client" { return true }
    let document = try? DecisionReply.parser.parse(response.body)
    let enhanced = document.flatMap { EnhancedError.read(in: $0, status: response.status) }
    return enhanced?.action == "application-registration"
  }
}

/// The reason why there are no credentials, or no token.
enum AdobePassClientError: Error {
  /// An error of an endpoint; `isUnknownClient` where it does not know the client any more.
  case endpoint(TokenError, isUnknownClient: Bool)
  /// Any other fault.
  case fault(DecisionFault)

  /// Whether another registration is what helps.
  var isUnknownClient: Bool {
    if case .endpoint(_, let isUnknownClient) = self { isUnknownClient } else { false }
  }

  /// A problem of the sidecar's own.
  static func trouble(_ details: String, retry: DecisionFault.Retry = .never) -> AdobePassClientError {
    .fault(DecisionFault(.accessTokenUnavailable(details), retry: retry))
  }
}
