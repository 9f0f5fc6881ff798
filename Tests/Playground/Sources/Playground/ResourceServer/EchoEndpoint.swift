import PosternJSON
import PosternSupport

/// `/echo`: the request as it arrived. Credentials come back as a short hash, so that a test can tell two tokens apart
/// without either of them being in an answer or a log.
struct EchoEndpoint: Endpoint {
  private static let credentials: Set<String> = ["authorization", "dpop", "proxy-authorization"]

  func reply(to request: Request) async throws -> Reply { try await reply(to: request, jose: nil) }

  /// The same with the header of the JWE that the request came in.
  func reply(to request: Request, jose: JSONObject?) async throws -> Reply {
    var echo: JSONObject = [
      "method": .string(request.method),
      "path": .string(request.path),
      "query": request.query.map { .string($0) } ?? .null,
      "headers": .object(Self.headers(of: request)),
    ]
    if let parameters = request.queryParameters {
      echo["parameters"] = .array(parameters.all.map { [.string($0.name), .string($0.value)] })
    }
    if let text = String(validating: request.body, as: UTF8.self) {
      echo["body"] = .string(text)
    } else {
      echo["bodyBase64"] = .string(Base64.string(request.body))
    }
    if let jose { echo["jose"] = .object(jose) }
    return Reply(json: .object(echo), headers: [("cache-control", "no-store")])
  }

  /// Lower-cased names with all their values in order.
  private static func headers(of request: Request) -> JSONObject {
    var headers = JSONObject()
    for (field, value) in request.headers {
      let name = field.lowercased()
      let shown = credentials.contains(name) ? Fingerprint.of(value) : value
      headers[name] = .array((headers[name]?.arrayValue ?? []) + [.string(shown)])
    }
    return headers
  }
}
