import JOSE
import PosternJSON

/// The provider's metadata (OpenID Connect Discovery 1.0 section 4, RFC 8414 section 3), the same document under every
/// path.
struct MetadataEndpoint: Endpoint {
  let issuer: String
  let faults: Faults
  let statistics: Statistics

  func reply(to request: Request) async throws -> Reply {
    statistics.count(\.discoveryRequests)
    let fault = try await faults.strike(.discovery)
    if let reply = fault?.generalReply { return reply }
    let stated = fault?.kind == .wrongIssuer ? "https://another.example" : issuer
    return Reply(json: document(issuer: stated), headers: [("cache-control", "public, max-age=300")])
  }

  private func document(issuer stated: String) -> JSONValue {
    let methods = Self.list(PlaygroundClient.Authentication.allCases.map(\.rawValue))
    let proving = Self.list(PlaygroundClient.Authentication.allCases.filter { $0 != .none }.map(\.rawValue))
    let assertionAlgorithms = Self.names(AssertionCheck.algorithms)
    return .object([
      "issuer": .string(stated),
      "authorization_endpoint": .string(issuer + "/authorize"),
      "authorization_response_iss_parameter_supported": true,
      "pushed_authorization_request_endpoint": .string(issuer + "/par"),
      "require_pushed_authorization_requests": false,
      "device_authorization_endpoint": .string(issuer + "/device_authorization"),
      "token_endpoint": .string(issuer + "/token"),
      "token_endpoint_auth_methods_supported": methods,
      "token_endpoint_auth_signing_alg_values_supported": assertionAlgorithms,
      "userinfo_endpoint": .string(issuer + "/userinfo"),
      "end_session_endpoint": .string(issuer + "/logout"),
      "jwks_uri": .string(issuer + "/jwks"),
      "introspection_endpoint": .string(issuer + "/introspect"),
      "introspection_endpoint_auth_methods_supported": proving,
      "introspection_endpoint_auth_signing_alg_values_supported": assertionAlgorithms,
      "introspection_signing_alg_values_supported": ["RS256"],
      "revocation_endpoint": .string(issuer + "/revoke"),
      "revocation_endpoint_auth_methods_supported": methods,
      "revocation_endpoint_auth_signing_alg_values_supported": assertionAlgorithms,
      "grant_types_supported": Self.list(PlaygroundClient.Grant.allCases.map(\.rawValue)),
      "response_types_supported": ["code", "code id_token"],
      "response_modes_supported": ["query", "fragment"],
      "code_challenge_methods_supported": ["S256"],
      "dpop_signing_alg_values_supported": Self.names(DPoPCheck.algorithms),
      "scopes_supported": Self.list(PlaygroundClient.userScopes),
      "claims_supported": [
        "iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "acr", "amr", "azp", "at_hash", "c_hash", "sid",
        "name",
        "preferred_username", "email", "email_verified",
      ],
      "acr_values_supported": Self.list(UserAuthentication.supportedACRs),
      "prompt_values_supported": ["none", "login", "consent", "select_account"],
      "claims_parameter_supported": false,
      "request_parameter_supported": false,
      // Of request objects; a pushed request's reference is always taken.
      "request_uri_parameter_supported": false,
      "subject_types_supported": ["public"],
      "id_token_signing_alg_values_supported": Self.names(SigningKeys.algorithms),
    ])
  }

  private static func list(_ texts: [String]) -> JSONValue { .array(texts.map { .string($0) }) }
  private static func names(_ algorithms: [SignatureAlgorithm]) -> JSONValue { list(algorithms.map(\.name)) }
}
