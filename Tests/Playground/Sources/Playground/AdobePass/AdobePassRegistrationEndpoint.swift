import PosternJSON
import PosternSupport

/// `POST /adobe/o/client/register` (RFC 7591): a software statement for credentials. Any JWT will do as a statement.
struct AdobePassRegistrationEndpoint: Endpoint {
  let gate: AdobePassGate
  let clients: AdobePassClients

  func reply(to request: Request) async throws -> Reply {
    if let rejection = gate.rejection(of: request, as: .register) { return rejection }
    return try await gate.answers.reply(to: .register, gate.settings.values) { try await issue(request) }
  }

  private func issue(_ request: Request) async throws -> Reply {
    let fault = try await gate.faults.strike(.adobeRegistration)
    if let fault, !fault.kind.strikesAfterwards {
      return fault.generalReply ?? Self.problem("unapproved_software_statement")
    }
    guard request.mediaType == "application/json", gate.describesDevice(request),
      let body = try? JSONParser(maxDepth: 4).parse(request.body),
      let statement = body["software_statement"]?.stringValue
    else { return Self.problem("invalid_request") }
    guard Self.isToken(statement) else { return Self.problem("invalid_software_statement") }
    let scopes = gate.settings.values.scopes
    guard let client = clients.register(mayCall: scopes.contains("api:client:v2")) else {
      return Self.problem("invalid_request")
    }
    if let fault {
      if fault.kind == .dropAfterIssue { return .hangUp }
      try await gate.faults.wait(for: fault)
    }
    return Reply(
      status: Int(gate.settings.values.createdStatus),
      json: [
        "client_id": .string(client.id), "client_secret": .string(client.secret), "client_id_issued_at": 1_800_000_000,
        "redirect_uris": [], "grant_types": ["client_credentials"], "scopes": .array(scopes.map(JSONValue.string)),
      ], headers: [("cache-control", "no-store")])
  }

  private static func problem(_ code: String) -> Reply { Reply(status: 400, json: ["error": .string(code)]) }

  /// Three parts of base64url, the middle one an object.
  private static func isToken(_ text: String) -> Bool {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let payload = Base64URL.decode(String(parts[1])) else { return false }
    return (try? JSONParser(maxDepth: 8).parse(payload))?.objectValue != nil
  }
}
