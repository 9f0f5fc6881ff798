import NIOHTTP1
import PosternJSON

/// `POST /adobe/api/v2/{serviceProvider}/decisions/preauthorize/{mvpd}`.
struct AdobePassDecisionsEndpoint: Endpoint {
  let gate: AdobePassGate
  let clients: AdobePassClients
  private let decisions = AdobePassDecisions()

  init(gate: AdobePassGate, clients: AdobePassClients) {
    self.gate = gate
    self.clients = clients
  }

  func reply(to request: Request) async throws -> Reply {
    if let rejection = gate.rejection(of: request, counting: \.adobeDecisions) { return rejection }
    if let fault = try await gate.faults.strike(.adobeDecisions), let reply = fault.generalReply { return reply }
    let values = gate.settings.values
    let authorization = request.headers.first(name: "authorization")
    let token = authorization.flatMap { $0.hasPrefix("Bearer ") ? String($0.dropFirst("Bearer ".count)) : nil }
    if let complaint = clients.complaint(about: token) { return complaint.reply(values.errorShape) }
    if let shape = gate.settings.takeShape() { return shape.reply(values) }
    func problem(_ code: String) -> Reply { AdobePassError(code, 400, "none").reply(values.errorShape) }
    guard gate.identifiesDevice(request) else { return problem("invalid_header_device_identifier") }
    guard gate.describesDevice(request) else { return problem("invalid_header_device_info") }
    guard let body = try? JSONParser(maxDepth: 4).parse(request.body),
      let given = body["resources"]?.arrayValue, !given.isEmpty
    else { return problem("invalid_parameter_resources") }
    let resources = given.compactMap(\.stringValue)
    guard resources.count == given.count else { return problem("invalid_parameter_resources") }
    guard resources.count <= values.maxResources else {
      return values.emptiesTooMany
        ? Reply(json: ["decisions": []]) : AdobePassShape.tooMany.reply(values)
    }
    let target = (request.captures["serviceProvider"] ?? "", request.captures["mvpd"] ?? "")
    let rows = decisions.rows(about: resources, at: target, degradation: values.degradation)
    return Reply(json: ["decisions": .array(values.reverses ? rows.reversed() : rows)])
  }
}
