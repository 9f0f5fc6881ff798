import NIOHTTP1
import PosternJSON

/// A call of the API: the checks that all have, what tests have prepared, and the call's own answer.
struct AdobePassEndpoint: Endpoint {
  let call: AdobePassCall
  let gate: AdobePassGate
  let clients: AdobePassClients
  /// The call's own answer.
  let answer: @Sendable (AdobePassRequest) throws(AdobePassError) -> Reply

  func reply(to request: Request) async throws -> Reply {
    var reply = try await checkedReply(to: request)
    if !reply.headers.contains(name: "adobe-request-id") {
      reply.headers.add(name: "adobe-request-id", value: RandomText.uuid())
    }
    return reply
  }

  private func checkedReply(to request: Request) async throws -> Reply {
    if let rejection = gate.rejection(of: request, as: call) { return rejection }
    if call == .preauthorize, let fault = try await gate.faults.strike(.adobeDecisions),
      let reply = fault.generalReply
    {
      return reply
    }
    let values = gate.settings.values
    let client: String
    do throws(AdobePassError) {
      client = try clients.client(of: Self.token(in: request))
    } catch {
      return error.reply(values.errorShape)
    }
    if call == .preauthorize, let shape = gate.settings.takeShape() { return shape.reply(values) }
    return try await gate.answers.reply(to: call, values) {
      do throws(AdobePassError) {
        return try answer(AdobePassRequest(request, as: call, of: client))
      } catch {
        return error.reply(values.errorShape)
      }
    }
  }

  private static func token(in request: Request) -> String? {
    let fields: [String] = request.headers["authorization"]
    guard fields.count == 1, fields[0].hasPrefix("Bearer ") else { return nil }
    return String(fields[0].dropFirst("Bearer ".count))
  }
}
