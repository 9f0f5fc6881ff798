import PosternJSON
import PosternSupport

/// `POST /adobe/o/client/token`: a token for the credentials of a registered client.
struct AdobePassTokenEndpoint: Endpoint {
  let gate: AdobePassGate
  let clients: AdobePassClients
  let clock: any EngineClock

  func reply(to request: Request) async throws -> Reply {
    if let rejection = gate.rejection(of: request, as: .token) { return rejection }
    return try await gate.answers.reply(to: .token, gate.settings.values) { try await issue(request) }
  }

  private func issue(_ request: Request) async throws -> Reply {
    if let fault = try await gate.faults.strike(.adobeToken) {
      return fault.generalReply ?? Self.problem("invalid_client")
    }
    guard request.mediaType == "application/x-www-form-urlencoded", gate.describesDevice(request),
      let form = FormParameters(parsing: request.body), let id = form["client_id"], let secret = form["client_secret"]
    else { return Self.problem("invalid_request") }
    guard form["grant_type"] == "client_credentials" else { return Self.problem("unsupported_grant_type") }
    let values = gate.settings.values
    let life = Duration.seconds(values.tokenSeconds - max(0, values.tokenAgeSeconds))
    guard let token = clients.token(id, secret, for: life) else { return Self.problem("invalid_client") }
    let created = clock.wallNow.millisecondsSinceEpoch - values.tokenAgeSeconds * 1000
    return Reply(
      status: Int(values.createdStatus),
      json: [
        "id": .string(RandomText.uuid()), "access_token": .string(token), "created_at": .integer(created),
        "expires_in": .integer(values.tokenSeconds), "token_type": "bearer",
      ], headers: [("cache-control", "no-store")])
  }

  private static func problem(_ code: String) -> Reply { Reply(status: 400, json: ["error": .string(code)]) }
}
