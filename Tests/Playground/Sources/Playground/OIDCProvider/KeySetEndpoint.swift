import NIOHTTP1
import PosternJSON

/// `GET /oidc/jwks`: the public keys (RFC 7517 section 5), with an entity tag so that an unchanged set costs nothing.
struct KeySetEndpoint: Endpoint {
  let keys: SigningKeys
  let faults: Faults
  let statistics: Statistics

  func reply(to request: Request) async throws -> Reply {
    statistics.count(\.keySetRequests)
    if let reply = try await faults.strike(.jwks)?.generalReply { return reply }
    let tag = "\"" + keys.identifiers.joined(separator: ".") + "\""
    let headers = [("etag", tag), ("cache-control", "public, max-age=300")]
    if request.headers[canonicalForm: "if-none-match"].contains(where: { $0 == tag || $0 == "*" }) {
      return Reply(status: 304, headers: headers)
    }
    return Reply(type: "application/jwk-set+json", bytes: JSONWriter().write(keys.publicSet), headers: headers)
  }
}
