import JSON

/// The provider's metadata (OpenID Connect Discovery 1.0 section 4, RFC 8414 section 3), the same document under every path.
struct MetadataEndpoint: Endpoint {
  let issuer: String
  let faults: Faults
  let statistics: Statistics

  func reply(to request: Request) async throws -> Reply {
    statistics.count(\.discoveryRequests)
    let fault = try await faults.strike(.discovery)
    if let reply = fault?.generalReply { return reply }
    let stated = fault?.kind == .wrongIssuer ? "https://somebody-else.example" : issuer
    return Reply(json: document(issuer: stated), headers: [("cache-control", "public, max-age=300")])
  }

  private func document(issuer stated: String) -> JSONValue {
    let methods = JSONValue.array(PlaygroundClient.Authentication.allCases.map { .string($0.rawValue) })
    return [
      "issuer": .string(stated),
      "token_endpoint": .string(issuer + "/token"),
      "token_endpoint_auth_methods_supported": methods,
      "jwks_uri": .string(issuer + "/jwks"),
      "introspection_endpoint": .string(issuer + "/introspect"),
      "introspection_endpoint_auth_methods_supported": methods,
      "revocation_endpoint": .string(issuer + "/revoke"),
      "revocation_endpoint_auth_methods_supported": methods,
      "grant_types_supported": ["client_credentials"],
      // Required by RFC 8414 section 2 and never empty (section 3.2), although without an authorization endpoint
      // there is nothing to ask it of.
      "response_types_supported": ["code"],
      "scopes_supported": ["orders", "orders:write", "profile"],
      "subject_types_supported": ["public"],
      "id_token_signing_alg_values_supported": ["RS256"],
    ]
  }
}
